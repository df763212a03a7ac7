import { MAX_TEXT_LENGTH } from '../../domain/fields.ts';

/** How one tool calls the API: one table, one example. `code` marks what is shown in monospace in a cell. */
export interface Recipe {
  slug: string;
  tool: string;
  /** What was run to make sure of it, or that nothing could be. */
  tried: string;
  /** What to set, and to what. */
  steps: readonly (readonly [setting: string, value: string])[];
  /** Which failures the tool repeats by itself, and how often. */
  repeats: string;
  example: { language: string; text: (origin: string) => string };
  download?: { file: string; label: string };
}

const max = MAX_TEXT_LENGTH.toLocaleString('en');

/** What people get wrong, whatever the tool. */
export const RULES: readonly (readonly [question: string, answer: string])[] = [
  [
    'What is the Idempotency-Key?',
    '`<workflow>:<event id>`, such as `triage:evt-20418`: the same each time this event is worked on.',
  ],
  [
    'What must it never be?',
    'A ticket number (the second entry of a ticket would be lost), an execution id, or a value made anew on each try (each try would write again).',
  ],
  ['A second entry for the same event, on purpose?', 'Put `:2` behind it: `triage:evt-20418:2`.'],
  [
    'What may be sent again?',
    'A POST with an Idempotency-Key is always safe to send again. Do so after 429, 500, 503 and a lost connection, with the same key and body, after the seconds in `Retry-After` (10 if there is none).',
  ],
  [
    'What must not be repeated by itself?',
    'Any other 4xx: the answer will be the same. Correct what `detail` says; the key is still free.',
  ],
  [
    '`technician_not_eligible`?',
    'Send the same request without userEmail and with the same Idempotency-Key: the automation service account is credited, an administrator can reassign it.',
  ],
  [
    'A long log?',
    `Cut it to ${max} characters counted as Unicode code points: \`Array.from(text).slice(0, ${MAX_TEXT_LENGTH}).join('')\` in JavaScript, \`.[0:${MAX_TEXT_LENGTH}]\` in jq, \`text[:${MAX_TEXT_LENGTH}]\` in Python. Cutting by bytes or UTF-16 units can leave half a character, which is refused.`,
  ],
  [
    'A retry after midnight?',
    "The entry is dated on the day it is written, in the organization's time zone: an entry that arrives after midnight lands on the next work date.",
  ],
  [
    'Where does the key go?',
    "Into the tool's credential store or an environment variable, never into a flow that is exported or shared.",
  ],
];

const body = '{"minutes": 30, "description": "Cleared the print queue", "billable": true}';

export const RECIPES: readonly Recipe[] = [
  {
    slug: 'curl',
    tool: 'curl',
    tried: 'This very example is run by a test of this project, first through a burst that exceeds the limit.',
    steps: [
      ['The key', 'In the environment: `export TICKETS_API_KEY=…`'],
      ['`--fail-with-body`', 'An error ends the script, and its body says what to do.'],
      ['`--retry 5`', 'Repeats with the same key and body; waits as long as `Retry-After` says.'],
      [
        '`--output`',
        'On the screen the answers of all tries would follow one another; in the file only the last one stands.',
      ],
      [
        'A text from a file',
        "`jq --rawfile log job.log -n '{message: $log[0:32000]}'` builds the JSON and cuts between characters; send it with `--data-binary @-`.",
      ],
    ],
    repeats:
      'Without `--retry` nothing. With it 408, 429, 500, 502, 503, 504 and timeouts, and with `--retry-connrefused` a refused connection.',
    example: {
      language: 'sh',
      text: (
        origin,
      ) => `curl --fail-with-body --silent --show-error --retry 5 --retry-connrefused --output answer.json \\
  '${origin}/api/v1/tickets/1001/time-entries' \\
  -H "Authorization: Bearer $TICKETS_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: triage:evt-20418' \\
  -d '${body}'
cat answer.json`,
    },
  },
  {
    slug: 'powershell',
    tool: 'PowerShell',
    tried: 'Could not be run here; written for Windows PowerShell 5.1 and PowerShell 7.',
    steps: [
      ['TLS', 'Windows PowerShell 5.1 may begin with an older version: switch to TLS 1.2.'],
      [
        'The body',
        'As UTF-8 bytes. A plain string is sent in another encoding by 5.1, and `ü` becomes `invalid_encoding`.',
      ],
      ['The error body', '`$_.ErrorDetails.Message`, and where that is empty the response stream.'],
      ['The wait', '10 seconds: no limit has a longer window.'],
    ],
    repeats: 'Nothing by itself in 5.1; the loop does it.',
    example: {
      language: 'powershell',
      text: (origin) => `[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
$headers = @{
  Authorization     = "Bearer $env:TICKETS_API_KEY"
  'Idempotency-Key' = 'triage:evt-20418'
}
$json = @{ minutes = 30; description = 'Cleared the print queue'; billable = $true } | ConvertTo-Json
$body = [Text.Encoding]::UTF8.GetBytes($json)

for ($try = 1; ; $try++) {
  try {
    $answer = Invoke-RestMethod -Method Post -Uri '${origin}/api/v1/tickets/1001/time-entries' \`
      -Headers $headers -ContentType 'application/json' -Body $body
    break
  } catch {
    $response = $_.Exception.Response
    $status = if ($response) { [int]$response.StatusCode } else { 0 }
    $problem = $_.ErrorDetails.Message
    if (-not $problem -and $response -is [Net.HttpWebResponse]) {
      $problem = (New-Object IO.StreamReader($response.GetResponseStream())).ReadToEnd()
    }
    $repeat = $status -eq 0 -or $status -eq 429 -or $status -ge 500
    if (-not $repeat -or $try -eq 5) { throw "HTTP $status $problem $($_.Exception.Message)" }
    Start-Sleep -Seconds 10
  }
}
$answer.entry.id`,
    },
  },
  {
    slug: 'n8n',
    tool: 'n8n',
    tried:
      'n8n could not be run here. A test of this project plays its pattern: 150 items at once, the whole batch repeated up to 5 times 5 seconds apart; all arrive once.',
    steps: [
      ['Import', 'Workflow menu, Import from File. Replace `https://tickets.example` in both HTTP Request nodes.'],
      ['Credential', 'Generic Credential Type, Bearer Auth, with the key only: n8n puts the word Bearer before it.'],
      ['Event', 'POST to the webhook: `{"eventId", "ticketId", "minutes", "description", "billable", "log"}`.'],
      [
        'Answer',
        '200 with the entry and the note; 400 if the event is incomplete, and nothing is sent; 409 if another event had the same eventId before; 500 after the last try. All but the 200 also fail the execution.',
      ],
      ['Batching', '5 items per batch, 1,000 ms between batches. The one setting that keeps big runs below the limit.'],
      ['Response format', 'JSON.'],
      ['Retry On Fail', 'On; 5 tries, 5,000 ms between them: the most n8n allows.'],
      [
        'Idempotency-Key',
        '`triage:{{ eventId }}`, never `{{ $execution.id }}`. The note may use the same: keys are unique for each kind of record.',
      ],
    ],
    repeats:
      'Nothing until Retry On Fail is on. Then any failure, at most 5 tries in all, and with all items of the node again: without an Idempotency-Key each repeat would write them twice.',
    example: {
      language: 'json',
      text: () => `{
  "eventId": "evt-20418",
  "ticketId": "1001",
  "minutes": 30,
  "description": "Cleared the print queue",
  "billable": true,
  "log": "09:30 queue stopped, 4 jobs removed, queue started"
}`,
    },
    download: { file: 'n8n.json', label: 'Workflow for import: webhook in, time entry and note out' },
  },
  {
    slug: 'node-red',
    tool: 'Node-RED',
    tried:
      'Run by a test of this project in Node-RED 5.0.7: 20 events at once with a limit of 10 in 10 seconds made 20 entries; delivered again, 20 replays.',
    steps: [
      ['Import', 'Menu, Import, select the file, Deploy.'],
      [
        'Address and key',
        '`TICKETS_URL` and `TICKETS_API_KEY` in the environment of Node-RED; the exported flow holds no key.',
      ],
      [
        'Event',
        'POST to `/work-done`: `{"eventId", "ticketId", "minutes", "description", "billable"}`, and userEmail if a technician is credited.',
      ],
      ['Idempotency-Key', '`triage:<eventId>`, set once before the first try. Without an eventId nothing is sent.'],
      [
        'Answer',
        'The webhook is answered when the entry is written, or with what is wrong: 400 without an eventId, 409 if another event had the same one before. The event may be delivered again without harm.',
      ],
    ],
    repeats:
      'Nothing by itself. The flow repeats 429, 5xx and lost connections up to 20 times, waits as long as `Retry-After` says, and resends without userEmail after `technician_not_eligible`.',
    example: {
      language: 'sh',
      text: () => `curl http://localhost:1880/work-done -H 'Content-Type: application/json' \\
  -d '{"eventId": "evt-20418", "ticketId": "1001", "minutes": 30, "description": "Cleared the print queue", "billable": true}'`,
    },
    download: { file: 'node-red.json', label: 'Flow for import: webhook in, time entry out' },
  },
  {
    slug: 'make',
    tool: 'Make',
    tried: "Could not be run here; settings and repeats are from the vendor's help pages.",
    steps: [
      ['Module', 'HTTP, Make a request; method POST; body type Raw, content type JSON.'],
      ['Headers', '`Authorization`: `Bearer <key>`; `Idempotency-Key`: `triage:{{1.eventId}}`.'],
      [
        'Request content',
        'From a JSON, Create JSON module: it escapes quotes and line breaks, which a text put together by hand does not.',
      ],
      ['Parse response', 'Yes.'],
      ['Evaluate all states as errors', 'Yes, or a failed write looks like a success.'],
      ['Error handler', 'Break, and in the scenario settings allow storing incomplete executions.'],
    ],
    repeats:
      'With stored incomplete executions 429, 503 and 504, with growing pauses; with a Break handler any error as often as it says. Otherwise nothing, and a scheduled scenario pauses for 20 minutes after a 503.',
    example: { language: 'json', text: () => body },
  },
  {
    slug: 'zapier',
    tool: 'Zapier',
    tried: "Could not be run here; settings and repeats are from the vendor's help pages.",
    steps: [
      ['Action', 'Webhooks by Zapier, Custom Request; method POST.'],
      [
        'Headers',
        '`Authorization | Bearer <key>`, `Content-Type | application/json`, `Idempotency-Key | triage:<id of the trigger>`.',
      ],
      [
        'Data',
        'JSON. Escape texts in a Code step with `JSON.stringify`: a line break in a mapped field breaks the JSON.',
      ],
      ['Unflatten', 'No.'],
      ['Autoreplay', 'On (a plan with it is needed).'],
    ],
    repeats:
      'With autoreplay up to 5 times over about 10 hours (after 5 minutes, 30 minutes, 1, 3 and 6 hours): a late one may land on the next work date. Without it nothing.',
    example: { language: 'json', text: () => body },
  },
  {
    slug: 'power-automate',
    tool: 'Power Automate',
    tried: 'Could not be run here; settings and repeats are from published descriptions.',
    steps: [
      ['Action', 'HTTP; method POST.'],
      [
        'Headers',
        '`Authorization`: `Bearer <key>` (secure inputs on); `Content-Type`: `application/json`; `Idempotency-Key`: `triage:` and the id of the event.',
      ],
      ['Never', '`workflow().run.name` in the Idempotency-Key: a resubmitted run has a new one.'],
      ['Retry policy', 'Settings of the action: Fixed interval, count 5, interval `PT10S`.'],
      [
        '`technician_not_eligible`',
        'A second HTTP action without userEmail and with the same Idempotency-Key, configured to run after the first has failed.',
      ],
    ],
    repeats: 'By default 4 times with growing pauses, after 408, 429, 5xx and lost connections; other 4xx never.',
    example: {
      language: 'json',
      text: (origin) => `{
  "method": "POST",
  "uri": "${origin}/api/v1/tickets/1001/time-entries",
  "headers": {
    "Authorization": "Bearer @{parameters('TicketsApiKey')}",
    "Content-Type": "application/json",
    "Idempotency-Key": "triage:@{triggerBody()?['eventId']}"
  },
  "body": ${body},
  "retryPolicy": { "type": "fixed", "count": 5, "interval": "PT10S" }
}`,
    },
  },
  {
    slug: 'typescript',
    tool: 'TypeScript',
    tried:
      '`client.ts` is compiled under `strict` by a test of this project, with types made from the document, and writes through bursts over the limit.',
    steps: [
      [
        'Types',
        '`npx -p typescript@5 -p openapi-typescript openapi-typescript <address>/api/v1/openapi.json -o api.d.ts`',
      ],
      ['Client', '`npm install openapi-fetch`, and `client.ts` beside `api.d.ts`.'],
      ['`logTime`', 'Resends without userEmail after `technician_not_eligible`, with the same Idempotency-Key.'],
      ['`limitText`', 'Cuts a long text between characters.'],
    ],
    repeats:
      'Nothing by itself: `fetch` never does. The client repeats 429, 5xx and lost connections up to 10 times, as long apart as `Retry-After` says.',
    example: {
      language: 'ts',
      text: (origin) => `import { logTime, ticketClient } from './client.ts';

const tickets = ticketClient('${origin}/api/v1', process.env['TICKETS_API_KEY'] ?? '');
const { entry } = await logTime(tickets, '1001', 'triage:evt-20418', {
  minutes: 30,
  description: 'Cleared the print queue',
  billable: true,
});
console.log(entry.id);`,
    },
    download: { file: 'client.ts', label: 'The client' },
  },
];
