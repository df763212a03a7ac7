"""Receives the changes that the Ticket Write-Back API pushes, and stores each in a file.

WEBHOOK_SECRET=whsec_… python3 receiver.py 8080
"""
import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Two, separated by a space, while one replaces the other.
SECRETS = [base64.b64decode(secret.removeprefix("whsec_")) for secret in os.environ["WEBHOOK_SECRET"].split()]
STORE = Path(os.environ.get("STORE", "changes"))


def is_genuine(headers, body):
    """Whether the message was signed with one of our secrets, in the last five minutes."""
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > 300:
        return False
    signed = f"{message_id}.{sent_at}.".encode() + body
    ours = ["v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in SECRETS]
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in ours for other in given)


def store(page):
    """Stores the changes by organization and seq: the same page may come again."""
    directory = STORE / page["organization"]
    directory.mkdir(parents=True, exist_ok=True)
    for change in page["changes"]:
        file = directory / f"{change['seq']}.json"
        file.with_suffix(".new").write_text(json.dumps(change), encoding="utf-8")
        file.with_suffix(".new").replace(file)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        genuine = is_genuine(self.headers, body)
        # Alerts and other types are confirmed too, and not needed here.
        if genuine and (message := json.loads(body))["type"] == "work.changes":
            store(message["data"])  # If it fails, there is no response, and the page comes again.
        self.send_response(204 if genuine else 401)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
