// Receives what the Ticket Write-Back API pushes, and stores each message in a file.
//
// WEBHOOK_SECRET=whsec_… dotnet run Receiver.cs 8080        (.NET 10; Mono: mcs Receiver.cs)
using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Threading;

static class Receiver
{
    // Two, separated by a space, while one replaces the other.
    static readonly byte[][] Secrets = Environment.GetEnvironmentVariable("WEBHOOK_SECRET").Split(' ')
        .Select(secret => Convert.FromBase64String(secret.Replace("whsec_", ""))).ToArray();
    static readonly string Store = Environment.GetEnvironmentVariable("STORE") ?? "pages";

    /// <summary>Whether the message was signed with one of our secrets, in the last five minutes.</summary>
    static bool IsGenuine(HttpListenerRequest request, byte[] body)
    {
        var sentAt = request.Headers["webhook-timestamp"] ?? "";
        if (!long.TryParse(sentAt, out var seconds)) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > 300) return false;
        var signed = Encoding.UTF8.GetBytes(request.Headers["webhook-id"] + "." + sentAt + ".").Concat(body).ToArray();
        var given = (request.Headers["webhook-signature"] ?? "").Split(' ');
        return Secrets.Any(secret => given.Any(other =>
            IsSame("v1," + Convert.ToBase64String(new HMACSHA256(secret).ComputeHash(signed)), other)));
    }

    /// <summary>Compares in the same time wherever the texts differ.</summary>
    static bool IsSame(string ours, string given) =>
        ours.Length == given.Length && ours.Zip(given, (a, b) => a ^ b).Aggregate(0, (all, one) => all | one) == 0;

    /// <summary>
    /// Stores the message by its id: it may come again. Parse it with System.Text.Json. If its type is
    /// work.changes, store data.changes by data.organization and seq; ignore types that you do not know.
    /// </summary>
    static void Keep(string id, byte[] page)
    {
        var file = Path.Combine(Store, id + ".json");
        Directory.CreateDirectory(Store);
        // Written under another name first, so that a file is always complete.
        var part = Path.Combine(Store, Guid.NewGuid() + ".part");
        File.WriteAllBytes(part, page);
        if (File.Exists(file)) File.Delete(file);
        File.Move(part, file);
    }

    static void Main(string[] args)
    {
        var server = new HttpListener { Prefixes = { "http://127.0.0.1:" + args[0] + "/" } };
        server.Start();
        while (true)
        {
            var context = server.GetContext();
            ThreadPool.QueueUserWorkItem(_ => Answer(context));
        }
    }

    /// <summary>Without an answer, or after a 500, the page comes again.</summary>
    static void Answer(HttpListenerContext context)
    {
        try
        {
            context.Response.StatusCode = 500;
            var body = new MemoryStream();
            context.Request.InputStream.CopyTo(body);
            var isGenuine = IsGenuine(context.Request, body.ToArray());
            if (isGenuine) Keep(context.Request.Headers["webhook-id"], body.ToArray());
            context.Response.StatusCode = isGenuine ? 204 : 401;
        }
        catch (Exception) { }
        try { context.Response.Close(); } catch (Exception) { }
    }
}
