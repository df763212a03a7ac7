"""Receives what the Ticket Write-Back API pushes, and writes notes and time entries into your PSA.

export WEBHOOK_SECRET=whsec_… PSA_URL=https://psa.example/api
export PSA_AUTHORIZATION='Bearer TOKEN'
# Or: export PSA_AUTHORIZATION="Basic $(printf %s 'USER:PASSWORD' | openssl base64 -A)"
python3 receiver.py 8971

After a restore of your PSA's database, start it with SERVICE_URL, PSA_SECRET and --replay ORGANIZATION.

Fit psa, write and report to your PSA. The rest can stay.
"""
import base64, hashlib, hmac, json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def secrets_in(variable):
    """Two secrets, separated by white space, while one replaces the other."""
    secrets = [base64.b64decode(one.removeprefix("whsec_")) for one in os.environ.get(variable, "").split()]
    # Everyone knows the empty key.
    if not secrets or any(len(secret) < 24 for secret in secrets):
        sys.exit(f"{variable} needs a secret of at least 24 bytes.")
    return secrets


SECRETS = secrets_in("WEBHOOK_SECRET")
QUEUE = Path(os.environ.get("QUEUE", "queue"))
# Seconds, longer than any call to your PSA takes: a call that was cut off may still be running there.
PAUSE = float(os.environ.get("PAUSE", "30"))
# A change that alone fails for this long, in seconds, is set aside.
LIMIT = float(os.environ.get("LIMIT", "3600"))
# The changes to write. Others are not: a refusal that you report also comes back, with its record.
WRITTEN = ["note.created", "note.redacted"]
WRITTEN += [f"time_entry.{action}" for action in ("created", "approved", "rejected", "redacted")]


def sign(secret, message_id, sent_at, body):
    signed = f"{message_id}.{sent_at}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def is_genuine(headers, body):
    """Whether the message was signed with one of our secrets, in the last five minutes."""
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > 300:
        return False
    ours = [sign(secret, message_id, sent_at, body) for secret in SECRETS]
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in ours for other in given)


def store(organization, changes):
    """Puts each change to write into its organization's queue, as a file that names seq and record."""
    (QUEUE / organization).mkdir(parents=True, exist_ok=True)
    for change in changes:
        if change["action"] == "time_entry.taken" and change["actor"]["type"] == "user":
            entered_file(organization, change).touch()
        elif change["action"] in WRITTEN:
            file = QUEUE / organization / f"{change['seq']:012}-{change['action']}-{change['targetId']}.json"
            if not file.with_suffix(".refused").exists():
                save(file, {**change, "organization": organization})


def entered_file(organization, change):
    """The file that exists if an administrator has entered this time by hand."""
    return QUEUE / organization / f"{change['targetId']}.entered"


def save(file, change):
    file.with_suffix(".new").write_text(json.dumps(change))
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
            start(message["data"]["organization"], 0)
        self.send_response(204 if genuine else 401)
        self.end_headers()

    def log_message(self, *_):
        """Prints no line for each request: errors must be seen."""


class Refused(Exception):
    """The PSA will not take the record, even if it is sent again."""


class Denied(Exception):
    """The PSA does not accept our account: a person has to look at it."""


def psa(method, path, body=None):
    headers = {"Authorization": os.environ["PSA_AUTHORIZATION"], "Content-Type": "application/json"}
    request = Request(os.environ["PSA_URL"] + path, body and json.dumps(body).encode(), headers, method=method)
    try:
        return json.load(urlopen(request, timeout=20))
    except HTTPError as error:
        if error.code in (401, 403, 407):
            raise Denied(f"HTTP {error.code}") from error
        if method != "GET" and error.code in (400, 404, 409, 410, 413, 422):
            raise Refused(f"HTTP {error.code}") from error
        raise


def write(change):
    """Writes the record as it is now. The look-up by its id comes first: it may be in the PSA already.

    With several tenants, change["organization"] says into which one.
    """
    note, entry = change["note"], change["timeEntry"]
    # Time that the settings area decides is created when it is approved, and never when it is rejected. Time that an
    # administrator has entered by hand is not created again.
    is_ready = entry and (entry["approvals"] == "psa" or entry["status"] == "APPROVED")
    may_create = note or (is_ready and not change["enteredByHand"])
    if note:
        path, fields = "/notes", {"internal": True, "text": note["message"]["text"]}
    elif entry:
        path = "/time-entries"
        fields = {"text": entry["description"]["text"], "user": entry["userId"], "date": entry["workDate"][:10]}
        fields |= {name: entry[name] for name in ("minutes", "billable", "hourlyRate", "status")}
    else:  # A review without its record.
        path, fields = "/time-entries", {"status": change["action"].split(".")[1].upper()}
    found = psa("GET", f"{path}?externalId={change['targetId']}")
    if not found:
        if may_create:
            psa("POST", path, {**fields, "externalId": change["targetId"], "ticket": change["ticketId"]})
    elif not change["action"].endswith(".created"):
        # Only what the change is about: an older one may come later, and must not bring a redacted text back.
        changed = "text" if change["action"].endswith(".redacted") else "status"
        psa("PATCH", f"{path}/{found[0]['id']}", {changed: fields[changed]})


def report(change, result, reason=None):
    """Reports a refusal, or its end. Send this to the service, with the function `call`."""
    data = {"organization": change["organization"], "kind": "note" if change["note"] else "time_entry"}
    data |= {"id": change["targetId"], "result": result} | ({"reason": reason} if reason else {})
    print(json.dumps({"type": "work.report", "data": data}), file=sys.stderr, flush=True)


def take(file, change, is_alone, is_first):
    """Writes a change into the PSA, or sets it aside as a file. Returns whether the PSA took it.

    After any other error, it must be tried again.
    """
    try:
        write(change)
    except Exception as error:
        is_over = is_alone or isinstance(error, Refused)
        if "reported" not in change and (is_over or (is_first and isinstance(error, Denied))):
            report(change, "refused", str(error) or repr(error))
            save(file, {**change, "reported": True})
        if not is_over:
            raise
        file.replace(file.with_suffix(".refused"))
        return False
    if "reported" in change:
        report(change, "taken")
    file.unlink()
    return True


def call(message_type, data):
    """Sends a call to the service, and returns its value."""
    body = json.dumps({"type": message_type, "data": data}).encode()
    message_id, at = f"msg_{os.urandom(16).hex()}", str(int(time.time()))
    signature = sign(secrets_in("PSA_SECRET")[0], message_id, at, body)
    headers = {"webhook-id": message_id, "webhook-timestamp": at, "webhook-signature": signature}
    headers["Content-Type"] = "application/json"
    return json.load(urlopen(Request(os.environ["SERVICE_URL"] + "/psa", body, headers), timeout=30))["value"]


def replay(organization):
    """Puts all changes into the queue again. The look-up in write finds the records that your PSA still has."""
    page = {"cursor": None, "more": True}
    while page["more"]:
        page = call("work.changes", {"organization": organization, "cursor": page["cursor"]})
        store(organization, page["changes"])


started = set()


def start(organization, pause):
    """Starts to work on an organization's queue, so that none waits for another."""
    if organization not in started:
        started.add(organization)
        threading.Thread(target=work, args=(QUEUE / organization, pause), daemon=True).start()


def work(queue, pause):
    """Takes the changes of a queue in order. One that fails holds up only its own ticket, until LIMIT."""
    failed = {}  # By file, when it failed for the first and for the last time.
    written_at = 0
    time.sleep(pause)
    while True:
        held = set()
        for file in sorted(queue.glob("*.json")):
            change = json.loads(file.read_text(encoding="utf-8"))
            change["enteredByHand"] = entered_file(queue.name, change).exists()
            ticket = change["ticketId"]
            if ticket in held:
                continue
            first, last = failed.get(file, (time.time(), float("inf")))
            is_long = time.time() - first > LIMIT
            try:
                if take(file, change, is_alone=is_long and written_at > last, is_first=not held):
                    written_at = time.time()
                failed.pop(file, None)
            except Exception as error:
                print(f"{file} is tried again: {error!r}", file=sys.stderr, flush=True)
                failed[file] = first, time.time()
                if not is_long:
                    held.add(ticket)
                time.sleep(PAUSE)
        time.sleep(0.2)


# Otherwise a queue would be confirmed and never written.
threading.excepthook = lambda error: (sys.__excepthook__(*error[:3]), os._exit(1))
QUEUE.mkdir(parents=True, exist_ok=True)
server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
# Before the work begins: only a later change shows which time was entered by hand.
for one in sys.argv[3:]:
    replay(one)
for folder in QUEUE.iterdir():
    start(folder.name, PAUSE)
server.serve_forever()
