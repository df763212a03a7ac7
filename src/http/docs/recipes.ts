import { MAX_TEXT_LENGTH } from '../../domain/fields.ts';

/** How one tool calls the API: settings and an example. Backticks in a text mark code. */
export interface Recipe {
  slug: string;
  tool: string;
  /** How this project tested the recipe, or that it could not. */
  tried: string;
  steps: readonly (readonly [setting: string, value: string])[];
  /** Which failed requests the tool retries, and how often. */
  retries: string;
  example: { language: string; text: (origin: string) => string };
  download?: { file: string; label: string };
}

const max = MAX_TEXT_LENGTH.toLocaleString('en');

/** Frequent mistakes, with the rule that avoids each of them, for every tool. */
export const RULES: readonly (readonly [question: string, answer: string])[] = [
  [
    'What should the Idempotency-Key be?',
    '`<workflow>:<event id>`, such as `triage:evt-20418`. Use the same value each time you process the same event, and take the event ID from a field that always has a value: a request whose event ID came out empty is refused.',
  ],
  [
    'What should it not be?',
    'A ticket number (the second entry for a ticket would be lost), an execution ID, or a new value for each attempt (each attempt would write again).',
  ],
  ['How do I write a second entry for the same event?', 'Append `:2`: `triage:evt-20418:2`.'],
  [
    'Which requests can I retry?',
    'Every POST with an Idempotency-Key. Retry after 429, 500, 503 and lost connections, with the same Idempotency-Key and the same body. Wait for the seconds in `Retry-After`, or 10 seconds if the header is missing.',
  ],
  [
    'What do I do about `daily_limit_reached`?',
    'Do not wait within the run: `Retry-After` can be hours, until midnight. Let the run fail, and send the same requests with the same Idempotency-Keys on the next day, or ask an administrator.',
  ],
  [
    'Which requests should not be retried automatically?',
    'Requests that failed with any other 4xx. The response will be the same. Fix what `detail` describes; you can reuse the same Idempotency-Key.',
  ],
  [
    'What do I do about `idempotencyMismatch` in a 200?',
    'Treat it as a failure: a different request used this Idempotency-Key before, so nothing was written now. Check that the event ID identifies one event.',
  ],
  [
    'What do I do about `technician_not_eligible`?',
    'Send the same request without userEmail and with the same Idempotency-Key. The entry is credited to the automation service account, and an administrator can reassign it.',
  ],
  [
    'How do I shorten a long log?',
    `Cut it to ${max} characters, counted as Unicode code points: \`Array.from(text).slice(0, ${MAX_TEXT_LENGTH}).join('')\` in JavaScript, \`.[0:${MAX_TEXT_LENGTH}]\` in jq, \`text[:${MAX_TEXT_LENGTH}]\` in Python. If you cut by bytes or UTF-16 units, you can split a character, and the request is refused.`,
  ],
  [
    'What happens to a retry after midnight?',
    "The work date of an entry is the day it is written, in the organization's time zone. An entry that arrives after midnight gets the next work date.",
  ],
  [
    'Where do I store the key?',
    "In the tool's credential store or in an environment variable. Never put it in a flow that is exported or shared.",
  ],
];

const body = '{"minutes": 30, "description": "Cleared the print queue", "billable": true}';

export const RECIPES: readonly Recipe[] = [
  {
    slug: 'curl',
    tool: 'curl',
    tried: 'Tested: a test of this project runs this example, first during a burst that exceeds the rate limit.',
    steps: [
      ['Key', 'Set an environment variable: `export TICKETS_API_KEY=…`'],
      [
        '`--fail-with-body`',
        'Makes curl fail on an error status and still keep the response body, which says what to do.',
      ],
      ['`--retry 5`', 'Retries with the same headers and body, after the seconds in `Retry-After`.'],
      ['`--retry-max-time 120`', 'Does not wait for hours if a daily limit is reached.'],
      [
        '`--output`',
        'Writes only the last response to the file. On standard output, the responses to all attempts follow one another.',
      ],
      [
        'Text from a file',
        "`jq --rawfile log job.log -n '{message: $log[0:32000]}'` builds the JSON and does not split characters. Pipe it to curl with `--data-binary @-`.",
      ],
    ],
    retries:
      'None without `--retry`. With it, curl retries 408, 429, 500, 502, 503, 504 and timeouts. `--retry-connrefused` adds refused connections.',
    example: {
      language: 'sh',
      text: (
        origin,
      ) => `curl --fail-with-body --silent --show-error --retry 5 --retry-max-time 120 --retry-connrefused --output response.json \\
  '${origin}/api/v1/tickets/1001/time-entries' \\
  -H "Authorization: Bearer $TICKETS_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: triage:evt-20418' \\
  -d '${body}'
cat response.json`,
    },
  },
  {
    slug: 'powershell',
    tool: 'PowerShell',
    tried: 'Not tested. Written for Windows PowerShell 5.1 and PowerShell 7.',
    steps: [
      ['TLS', 'Windows PowerShell 5.1 may use an older version by default. Set TLS 1.2.'],
      [
        'Body',
        'Send UTF-8 bytes. Version 5.1 sends a string in another encoding, and a character such as `ü` then causes the error `invalid_encoding`.',
      ],
      ['Error body', 'Read `$_.ErrorDetails.Message`. If it is empty, read the response stream.'],
      ['Wait between attempts', '10 seconds. No rate limit has a longer window. After a daily limit, do not retry.'],
    ],
    retries: 'None built into version 5.1. The loop in the example retries up to 4 times.',
    example: {
      language: 'powershell',
      text: (origin) => `[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
$headers = @{
  Authorization     = "Bearer $env:TICKETS_API_KEY"
  'Idempotency-Key' = 'triage:evt-20418'
}
$json = @{ minutes = 30; description = 'Cleared the print queue'; billable = $true } | ConvertTo-Json
$body = [Text.Encoding]::UTF8.GetBytes($json)

for ($attempt = 1; ; $attempt++) {
  try {
    $result = Invoke-RestMethod -Method Post -Uri '${origin}/api/v1/tickets/1001/time-entries' \`
      -Headers $headers -ContentType 'application/json' -Body $body
    break
  } catch {
    $response = $_.Exception.Response
    $status = if ($response) { [int]$response.StatusCode } else { 0 }
    $problem = $_.ErrorDetails.Message
    if (-not $problem -and $response -is [Net.HttpWebResponse]) {
      $problem = (New-Object IO.StreamReader($response.GetResponseStream())).ReadToEnd()
    }
    $retry = $status -eq 0 -or ($status -eq 429 -and $problem -notmatch 'daily_limit_reached') -or $status -ge 500
    if (-not $retry -or $attempt -eq 5) { throw "HTTP $status $problem $($_.Exception.Message)" }
    Start-Sleep -Seconds 10
  }
}
$result.entry.id`,
    },
  },
  {
    slug: 'n8n',
    tool: 'n8n',
    tried:
      'Not tested in n8n. A test of this project sends requests as n8n does: 150 items at once, with the whole batch retried up to 5 times, 5 seconds apart. Each item is written once.',
    steps: [
      [
        'Import',
        'In the workflow menu, select Import from File. Replace `https://tickets.example` in both HTTP Request nodes.',
      ],
      [
        'Credential',
        'In both HTTP Request nodes: Generic Credential Type, Bearer Auth. Enter only the key; n8n adds the word Bearer.',
      ],
      ['Event', 'POST a JSON object to the webhook, with the fields of the example below.'],
      [
        'Webhook authentication',
        'The imported webhook has no authentication, so anyone who knows its URL can log time. Set Authentication to Header Auth before you publish the workflow.',
      ],
      [
        'Response',
        '200 with the entry and the note. 400 if the event is incomplete; nothing is sent then. 409 if a different event with the same eventId was written before. 500 after the last try. Except after a 200, the execution also fails.',
      ],
      ['Batching', '5 items per batch, 1,000 ms between batches. This keeps large runs below the rate limit.'],
      ['Response format', 'JSON.'],
      ['Retry On Fail', 'On. 5 tries, 5,000 ms between tries. These are the maximum values in n8n.'],
      [
        'Idempotency-Key',
        "`triage:{{ $('Work done').item.json.body.eventId }}`. Never use `$execution.id`. The note and the time entry can use the same value, because an Idempotency-Key is unique for each kind of record.",
      ],
      [
        'Publish',
        'Publish the workflow (n8n 1: activate it), and send events to the production URL `/webhook/work-done`, not to `/webhook-test/work-done`.',
      ],
    ],
    retries:
      'None unless Retry On Fail is on. With it, n8n retries after any failure, up to 5 tries in total, and sends all items of the node again. Without an Idempotency-Key, each retry would write the items again.',
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
    download: { file: 'n8n.json', label: 'Workflow to import: a webhook, then a time entry and a note' },
  },
  {
    slug: 'node-red',
    tool: 'Node-RED',
    tried:
      'Tested: a test of this project runs the flow in Node-RED 5.0.7. With a limit of 10 requests per 10 seconds, 20 events at once create 20 entries. When the events are delivered again, the result is 20 replays.',
    steps: [
      ['Import', 'In the menu, select Import, select the file, and then select Deploy.'],
      [
        'URL and key',
        'Set the environment variables `TICKETS_URL` and `TICKETS_API_KEY` for Node-RED. The exported flow does not contain the key.',
      ],
      [
        'Event',
        'POST a JSON object to `/work-done`, with the fields of the example below. Add userEmail to credit a technician. The endpoint has no authentication, so restrict access to it.',
      ],
      [
        'Idempotency-Key',
        '`triage:<eventId>`, set once before the first attempt. Without an eventId, nothing is sent.',
      ],
      [
        'Response',
        'The flow responds to the webhook after the entry is written, or says what is wrong: 400 without an eventId, 409 if a different event with the same eventId was written before. The sender can safely deliver the event again.',
      ],
    ],
    retries:
      'None built into Node-RED. The flow tries up to 20 times after 429, 5xx and lost connections, and waits at least for the seconds in `Retry-After`, unless these are more than 120. After `technician_not_eligible`, it sends the request again without userEmail.',
    example: {
      language: 'sh',
      text: () => `curl http://localhost:1880/work-done -H 'Content-Type: application/json' \\
  -d '{"eventId": "evt-20418", "ticketId": "1001", "minutes": 30, "description": "Cleared the print queue", "billable": true}'`,
    },
    download: { file: 'node-red.json', label: 'Flow to import: a webhook, then a time entry' },
  },
  {
    slug: 'make',
    tool: 'Make',
    tried: "Not tested. Settings and retries are taken from the vendor's help pages.",
    steps: [
      [
        'Module',
        'HTTP version 3 (legacy), Make a request. Method POST, body type Raw, content type JSON. Version 4 names some settings differently.',
      ],
      ['URL', 'The address of this service, followed by `/api/v1/tickets/{{1.ticketId}}/time-entries`.'],
      ['Headers', '`Authorization`: `Bearer <key>`; `Idempotency-Key`: `triage:{{1.eventId}}`.'],
      ['Request content', 'Use the output of a JSON module, Create JSON. It escapes quotes and line breaks.'],
      ['Parse response', 'Yes.'],
      ['Evaluate all states as errors', 'Yes. Otherwise a failed write looks like a success.'],
      ['Error handler', 'Break. Also allow storing incomplete executions in the scenario settings.'],
    ],
    retries:
      'If incomplete executions are stored, Make retries 429, 503 and 504 with increasing delays. A Break handler retries any error as often as configured. Without either, there are no retries, and a scheduled scenario pauses for 20 minutes after a 503.',
    example: { language: 'json', text: () => body },
  },
  {
    slug: 'zapier',
    tool: 'Zapier',
    tried: "Not tested. Settings and retries are taken from the vendor's help pages.",
    steps: [
      ['Action', 'Webhooks by Zapier, Custom Request. Method POST.'],
      ['URL', 'The address of this service, followed by `/api/v1/tickets/<ticket id>/time-entries`.'],
      [
        'Headers',
        '`Authorization | Bearer <key>`, `Content-Type | application/json`, `Idempotency-Key | triage:<id of the trigger>`.',
      ],
      [
        'Data',
        'JSON. Escape text in a Code step with `JSON.stringify`, because a line break in a mapped field makes the JSON invalid.',
      ],
      ['Unflatten', 'No.'],
      ['Autoreplay', 'On. Not every plan includes it.'],
    ],
    retries:
      'With autoreplay, up to 5 retries over about 10 hours: after 5 minutes, 30 minutes, 1, 3 and 6 hours. A late retry can get the next work date. Without autoreplay there are no retries.',
    example: { language: 'json', text: () => body },
  },
  {
    slug: 'power-automate',
    tool: 'Power Automate',
    tried: 'Not tested. Settings and retries are taken from published descriptions.',
    steps: [
      ['Action', 'HTTP. Method POST. This is a premium action.'],
      [
        'Headers',
        '`Authorization`: `Bearer <key>`; `Content-Type`: `application/json`; `Idempotency-Key`: `triage:` and the event ID. Turn on secure inputs. The example reads the key from a parameter named `TicketsApiKey`.',
      ],
      ['Idempotency-Key', 'Never use `workflow().run.name`, because it changes when a run is resubmitted.'],
      ['Retry policy', 'In the settings of the action: fixed interval, count 5, interval `PT10S`.'],
      [
        '`technician_not_eligible`',
        'Add a second HTTP action without userEmail and with the same Idempotency-Key. Configure it to run after the first action has failed.',
      ],
    ],
    retries:
      'By default, up to 4 retries with increasing delays after 408, 429, 5xx and lost connections. Other 4xx responses are not retried.',
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
      'Tested: a test of this project compiles `client.ts` in strict mode with types generated from the OpenAPI document, and writes during bursts that exceed the rate limit.',
    steps: [
      [
        'Types',
        '`npx -p typescript@5 -p openapi-typescript openapi-typescript <address>/api/v1/openapi.json -o api.d.ts`',
      ],
      ['Client', '`npm install openapi-fetch`. Put `client.ts` in the same folder as `api.d.ts`.'],
      [
        '`logTime`',
        'After `technician_not_eligible`, sends the request again without userEmail and with the same Idempotency-Key. Throws if a different request used the Idempotency-Key before.',
      ],
      ['`limitText`', 'Cuts a long text without splitting a character.'],
    ],
    retries:
      'None built into `fetch`. The client tries up to 10 times after 429, 5xx and lost connections, and waits at least for the seconds in `Retry-After`, unless these are more than 120.',
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
    download: { file: 'client.ts', label: 'Download the client' },
  },
];
