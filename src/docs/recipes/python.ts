import {
  addressCommands,
  copyAddress,
  EVENT_ID_RULES,
  keepKey,
  MAX_TEXT,
  PINGED,
  pingCommands,
  success,
  TICKET,
  TIME_KEY,
} from './common.ts';
import type { Recipe } from './recipe.ts';

/** The whole script. */
const SCRIPT = `"""Logs time on a ticket: python log_time.py EVENT_ID TICKET_ID"""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SERVICE = os.environ["TICKETS_URL"]
KEY = os.environ["TICKETS_API_KEY"]
MAX_ATTEMPTS = 10
# Longer than any limit of requests asks to wait. A daily limit asks for hours: that is an error.
MAX_WAIT_SECONDS = 120


def log_time(event_id, ticket_id, minutes, description, billable):
    """Returns the status and the response. The same event is never written twice."""
    request = urllib.request.Request(
        f"{SERVICE}/api/v1/tickets/{urllib.parse.quote(ticket_id, safe='')}/time-entries",
        method="POST",
        data=json.dumps(
            {"minutes": minutes, "description": description[:${MAX_TEXT}], "billable": billable}
        ).encode(),
        headers={
            "Authorization": f"Bearer {KEY}",
            "Content-Type": "application/json",
            "Idempotency-Key": f"triage:{event_id}",
            # Some firewalls block the default, which names Python.
            "User-Agent": "triage/1.0",
        },
    )
    for attempt in range(1, MAX_ATTEMPTS + 1):
        wait = 0
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                result = json.load(response)
                if result.get("idempotencyMismatch"):
                    raise SystemExit(f"Another event used triage:{event_id} before. Nothing was written now.")
                return response.status, result
        except urllib.error.HTTPError as error:
            problem = error.read().decode()
            wait = int(error.headers.get("Retry-After") or 0)
            may_retry = error.code == 429 or error.code >= 500
            if not may_retry or attempt == MAX_ATTEMPTS or wait > MAX_WAIT_SECONDS:
                raise SystemExit(f"{error.code} {problem}")
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            if attempt == MAX_ATTEMPTS:
                raise SystemExit(f"No response: {error}")
        time.sleep(max(wait, min(2 ** (attempt - 1), 30)) + random.random())


if __name__ == "__main__":
    _, event_id, ticket_id = sys.argv
    status, result = log_time(event_id, ticket_id, 30, "Cleared the print queue", True)
    print(status, result["entry"]["id"])
`;

export const python: Recipe = {
  slug: 'python',
  tool: 'Python',
  lead: 'From an empty file to the first time entry, without packages. Python 3.9 or newer.',
  needs: [TIME_KEY, TICKET, 'Python 3.9 or newer: `python3 --version`, or `py --version` on Windows.'],
  steps: (origin) => [
    {
      ...copyAddress(origin, 'Run this in a terminal. The script reads the variable.'),
      code: addressCommands(origin),
    },
    keepKey,
    { title: 'Ping', text: ['It checks the key and writes nothing.'], code: pingCommands, after: [PINGED] },
    { title: 'Save the script', text: ['Save it as `log_time.py`.'], code: { label: 'log_time.py', text: SCRIPT } },
    {
      title: 'Run it with an event and a ticket',
      text: [
        'The id of the event becomes the Idempotency-Key, so a retry never writes twice. In your program, pass the id of what started it.',
        ...EVENT_ID_RULES,
      ],
      code: {
        label: 'Run the script',
        bash: 'python3 log_time.py evt-python-1 1001',
        powershell: 'py log_time.py evt-python-1 1001',
      },
    },
    success('The script prints `201` and the id of the entry. The whole response is in `result`:'),
  ],
  failures: [
    [
      "`KeyError: 'TICKETS_URL'`",
      'The variable is missing. Set it in the same terminal, or in the settings of what starts the script.',
    ],
  ],
  retries:
    'None built into `urllib`. The script tries up to 10 times after 429, 5xx and lost connections, and waits at least for the seconds in `Retry-After`, unless these are more than 120.',
  checked: [
    'Run: a test of this project runs the script, as it is above, during a burst that exceeds the rate limit, and with an empty event id.',
    'Not run: the commands for PowerShell.',
  ],
};
