"""Receives what the Ticket Write-Back API pushes, and writes notes and time entries into your PSA.

WEBHOOK_SECRET=whsec_… PSA_URL=https://psa.example/api PSA_TOKEN=… python3 receiver.py 8971

Fit psa, write and report to your PSA. The rest can stay.
"""
import base64, hashlib, hmac, json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

# Two secrets, separated by white space, while one replaces the other.
SECRETS = [base64.b64decode(one.removeprefix("whsec_")) for one in os.environ.get("WEBHOOK_SECRET", "").split()]
# Everyone knows the empty key.
if not SECRETS or any(len(secret) < 24 for secret in SECRETS):
    sys.exit("WEBHOOK_SECRET needs a secret of at least 24 bytes.")
QUEUE = Path(os.environ.get("QUEUE", "queue"))
# Seconds, longer than any call to your PSA takes: a call that was cut off may still be running there.
PAUSE = float(os.environ.get("PAUSE", "30"))
# The changes to write. Others are not: a refusal that you report also comes back, with its record.
WRITTEN = (".created", ".approved", ".rejected", ".redacted")


def is_genuine(headers, body):
    """Whether the message was signed with one of our secrets, in the last five minutes."""
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > 300:
        return False
    signed = f"{message_id}.{sent_at}.".encode() + body
    ours = ["v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in SECRETS]
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in ours for other in given)


def store(organization, changes):
    """Puts each change to write into the queue with its organization, as a file that names seq and record."""
    QUEUE.mkdir(parents=True, exist_ok=True)
    for change in changes:
        record = change["note"] or change["timeEntry"]
        if record and change["action"].endswith(WRITTEN):
            file = QUEUE / f"{change['seq']:012}-{change['action']}-{record['id']}.json"
            file.with_suffix(".new").write_text(json.dumps({**change, "organization": organization}))
            file.with_suffix(".new").replace(file)  # So that a file is always complete.


class Receiver(BaseHTTPRequestHandler):
    timeout = 20  # Seconds without data. Only one request is read at a time.

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        genuine = is_genuine(self.headers, body)
        # Alerts and other types are confirmed too, and not needed here.
        if genuine and (message := json.loads(body))["type"] == "work.changes":
            # If it fails, there is no response, and the page is sent again.
            store(message["data"]["organization"], message["data"]["changes"])
        self.send_response(204 if genuine else 401)
        self.end_headers()


class Refused(Exception):
    """The PSA will not take the record, even if it is sent again."""


def psa(method, path, body=None):
    headers = {"Authorization": f"Bearer {os.environ['PSA_TOKEN']}", "Content-Type": "application/json"}
    request = Request(os.environ["PSA_URL"] + path, body and json.dumps(body).encode(), headers, method=method)
    try:
        return json.load(urlopen(request, timeout=20))
    except HTTPError as error:
        is_refused = method != "GET" and error.code in (400, 404, 422)
        raise Refused(f"HTTP {error.code}") if is_refused else error


def write(change):
    """Writes the record as it is now. The look-up by its id comes first: it may be in the PSA already.

    With several tenants, change["organization"] says into which one.
    """
    if note := change["note"]:
        path, record = "/notes", note
        fields = {"internal": True, "text": note["message"]["text"]}
    else:
        path, record = "/time-entries", (entry := change["timeEntry"])
        fields = {"text": entry["description"]["text"], "user": entry["userId"], "date": entry["workDate"][:10]}
        fields |= {name: entry[name] for name in ("minutes", "billable", "hourlyRate", "status")}
    fields |= {"externalId": record["id"], "ticket": record["ticketId"]}
    found = psa("GET", f"{path}?externalId={record['id']}")
    if not found:
        psa("POST", path, fields)
    elif not change["action"].endswith(".created"):  # Approved, rejected or redacted.
        psa("PUT", f"{path}/{found[0]['id']}", fields)


def report(change, reason):
    """Reports the refusal. Send this to the service, with the function of /docs/psa that sends a call."""
    data = {"organization": change["organization"], "kind": "note" if change["note"] else "time_entry"}
    data |= {"id": change["targetId"], "result": "refused", "reason": reason}
    print(json.dumps({"type": "work.report", "data": data}), file=sys.stderr)


def take(file):
    """Writes a change of the queue into the PSA. What the PSA refuses is kept as a file."""
    change = json.loads(file.read_text(encoding="utf-8"))
    try:
        write(change)
        file.unlink()
    except Refused as refused:
        report(change, str(refused))
        file.replace(file.with_suffix(".refused"))


def work():
    """Takes one change after the other. After any error it waits, and takes the same change again."""
    pause = PAUSE if any(QUEUE.glob("*.json")) else 0.2
    while True:
        time.sleep(pause)
        pause = 0.2
        try:
            for file in sorted(QUEUE.glob("*.json")):
                take(file)
        except Exception as error:
            print(f"The queue is tried again: {error!r}", file=sys.stderr)
            pause = PAUSE


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
threading.Thread(target=work, daemon=True).start()
server.serve_forever()
