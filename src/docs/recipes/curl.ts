import {
  addressCommands,
  copyAddress,
  ENTRY,
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

const OPTIONS =
  '--fail-with-body --silent --show-error --retry 5 --retry-max-time 120 --retry-connrefused --output response.json';

export const curl: Recipe = {
  slug: 'curl',
  tool: 'curl',
  lead: 'From a terminal to the first time entry. For scripts and scheduled jobs on Linux, macOS and Windows.',
  needs: [TIME_KEY, TICKET, 'curl 7.76 or newer: `curl --version`. On Windows it is `curl.exe`.'],
  steps: (origin) => [
    {
      ...copyAddress(origin, 'Run this in a terminal. All commands below use the variable.'),
      code: addressCommands(origin),
    },
    keepKey,
    { title: 'Ping', text: ['It checks the key and writes nothing.'], code: pingCommands, after: [PINGED] },
    {
      title: 'Name the event',
      text: [
        'The id of the event becomes the Idempotency-Key, so a retry never writes twice. In a script, take it from what started the script, such as the id of an alert.',
        ...EVENT_ID_RULES,
      ],
      code: { label: 'Event', bash: "EVENT_ID='evt-curl-1'", powershell: "$eventId = 'evt-curl-1'" },
    },
    {
      title: 'Log time',
      text: [
        '`--retry` sends the same request again after 429, 5xx and timeouts, and waits for the seconds in `Retry-After`; after `--retry-max-time` seconds it gives up. `--fail-with-body` makes an error status an error of the command.',
      ],
      code: {
        label: 'Log time',
        bash: `curl ${OPTIONS} \\
  --write-out '%{http_code}\\n' "$TICKETS_URL/api/v1/tickets/1001/time-entries" \\
  -H "Authorization: Bearer $TICKETS_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: triage:$EVENT_ID" \\
  -d '${ENTRY}'
cat response.json`,
        powershell: `'${ENTRY}' | curl.exe ${OPTIONS} \`
  --write-out '%{http_code}\\n' "$env:TICKETS_URL/api/v1/tickets/1001/time-entries" \`
  -H "Authorization: Bearer $env:TICKETS_API_KEY" \`
  -H 'Content-Type: application/json' \`
  -H "Idempotency-Key: triage:$eventId" \`
  --data-binary '@-'
Get-Content response.json`,
      },
    },
    success('The terminal shows `201`, and then the entry:'),
  ],
  failures: [
    [
      'A long log is refused',
      `A text has at most ${MAX_TEXT.toLocaleString('en')} characters. \`jq --rawfile log job.log -n '{message: $log[0:${MAX_TEXT}]}'\` cuts it and builds the JSON; send that with \`--data-binary @-\`.`,
    ],
  ],
  retries:
    'None without `--retry`. With it, curl retries 408, 429, 500, 502, 503, 504 and timeouts. `--retry-connrefused` adds refused connections.',
  checked: [
    'Run: a test of this project runs the commands for bash, as they are above, during a burst that exceeds the rate limit.',
    'Not run: the commands for PowerShell.',
  ],
};
