// Receives what the Ticket Write-Back API pushes, and puts each message into a queue, as a file.
//
// WEBHOOK_SECRET=whsec_… dotnet run Receiver.cs 8080        (.NET 10; Mono: mcs Receiver.cs)
//
// A program of yours takes the files in the order of their names, parses them with System.Text.Json,
// writes data.changes into the tenant of data.organization, and deletes the file. It writes only changes
// that have a note or timeEntry and an action that ends with .created, .approved, .rejected or
// .redacted: a refusal that you report also comes back. It puts the id of the note or timeEntry on what
// it writes, and looks for that id first. It reports what the PSA refuses, with work.report, and goes on.
// After any other error, whatever it is, it waits and starts with the same file again.
using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Security.Cryptography;
using System.Text;

static class Receiver
{
    // Two, separated by a space, while one replaces the other.
    static readonly byte[][] Secrets = Environment.GetEnvironmentVariable("WEBHOOK_SECRET").Split(' ')
        .Select(secret => Convert.FromBase64String(secret.Replace("whsec_", ""))).ToArray();
    static readonly string Queue = Environment.GetEnvironmentVariable("QUEUE") ?? "queue";

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

    /// <summary>Stores the message under a name that begins with the time, so that names are in order.</summary>
    static void Store(string id, byte[] message)
    {
        Directory.CreateDirectory(Queue);
        // A message that still waits is not stored again.
        if (Directory.GetFiles(Queue, "*-" + id + ".json").Length > 0) return;
        // Written under another name first, so that a file is always complete.
        var part = Path.Combine(Queue, id + ".part");
        File.WriteAllBytes(part, message);
        File.Move(part, Path.Combine(Queue, DateTime.UtcNow.Ticks + "-" + id + ".json"));
    }

    static void Main(string[] args)
    {
        var server = new HttpListener { Prefixes = { "http://127.0.0.1:" + args[0] + "/" } };
        server.Start();
        while (true) Answer(server.GetContext()); // One after the other.
    }

    /// <summary>Without an answer, or after a 500, the message is sent again.</summary>
    static void Answer(HttpListenerContext context)
    {
        try
        {
            context.Response.StatusCode = 500;
            var body = new MemoryStream();
            context.Request.InputStream.CopyTo(body);
            var isGenuine = IsGenuine(context.Request, body.ToArray());
            if (isGenuine) Store(context.Request.Headers["webhook-id"], body.ToArray());
            context.Response.StatusCode = isGenuine ? 204 : 401;
        }
        catch (Exception) { }
        try { context.Response.Close(); } catch (Exception) { }
    }
}
