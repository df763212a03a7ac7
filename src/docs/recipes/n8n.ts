import { copyAddress, EVENT_ID_RULES, eventJson, PINGED, randomToken, sendEvent, success, TICKET } from './common.ts';
import type { Recipe } from './recipe.ts';

const PLACEHOLDER = 'https://tickets.example';
const FILE = 'n8n.json';

export const n8n: Recipe = {
  slug: 'n8n',
  tool: 'n8n',
  lead: 'From a new workflow to the first time entry and note. n8n 2.0 or newer, cloud or self-hosted.',
  needs: [
    'A key with the scopes **Time entries** and **Internal notes**. An administrator creates it in [Settings](/settings); it is shown once.',
    TICKET,
    'An account in n8n that may create credentials and publish workflows.',
  ],
  steps: (origin) => [
    copyAddress(origin, 'The next step puts it into the workflow.'),
    {
      title: 'Download the workflow with your address in it',
      text: [
        `Run this in a terminal. Without one, download the file, and after the import replace \`${PLACEHOLDER}\` with your address in the nodes **Ping**, **Log time** and **Add note**.`,
      ],
      code: {
        label: 'Download the workflow',
        bash: `curl -s ${origin}/docs/recipes/${FILE} | sed 's#${PLACEHOLDER}#${origin}#' > ${FILE}`,
        powershell: `(Invoke-WebRequest -UseBasicParsing ${origin}/docs/recipes/${FILE}).Content.Replace('${PLACEHOLDER}', '${origin}') |
  Set-Content -Encoding ascii ${FILE}`,
      },
      download: { file: FILE, label: FILE },
    },
    {
      title: 'Import it',
      text: ['In n8n, create a workflow. In its menu **…** at the top right, select **Import from File**.'],
    },
    {
      title: 'Store the key',
      text: [
        'Open the node **Ping**. Under **Bearer Auth**, select **Create new credential**. Paste the key into **Bearer Token**, without the word Bearer: n8n adds it. Select **Save**.',
      ],
    },
    {
      title: 'Choose the credential in the other two nodes',
      text: [
        'Open **Log time** and then **Add note**. Under **Bearer Auth**, choose the credential that you have just made.',
      ],
    },
    {
      title: 'Ping',
      text: ['Select **Execute workflow from Test the key**. It checks the key and writes nothing.'],
      after: [`Open **Ping**: \`statusCode\` is \`200\`. ${PINGED}`],
    },
    {
      title: 'Make a token for the webhook',
      text: [
        'Without a token, anyone who knows the address of the webhook can log time. Run this, or use any other long random value. Keep it for the next steps.',
      ],
      code: randomToken,
    },
    {
      title: 'Protect the webhook with it',
      text: [
        'Open the node **Work done**. **Authentication** is **Header Auth**. Select **Create new credential**, and enter:',
      ],
      fields: [
        ['Name', '`X-Webhook-Token`'],
        ['Value', 'the token'],
      ],
    },
    {
      title: 'Check where the event id comes from',
      text: [
        'In **Log time** and **Add note**, the header **Idempotency-Key** is an expression. If your sender names the field differently, change `eventId` in both.',
        ...EVENT_ID_RULES,
        'This workflow refuses an empty event id before that: the webhook responds with `400`.',
      ],
      code: {
        label: 'Idempotency-Key of the workflow',
        text: "triage:{{ $('Work done').item.json.body.eventId }}",
      },
      after: [
        'In a node directly after a webhook, this is shorter: `triage:{{ $json.body.eventId }}`. Switch the field to **Expression**. Never use `$execution.id`: it changes with each try, so each try would write again.',
      ],
    },
    {
      title: 'Publish',
      text: [
        'Select **Publish**. Only a published workflow has its production address, which ends in `/webhook/work-done`. The address with `/webhook-test/` works only while the editor listens.',
      ],
    },
    {
      title: 'Send one event',
      text: ['Replace `n8n.example` with the host of your n8n, and `TOKEN` with the token.'],
      code: sendEvent({
        url: 'https://n8n.example/webhook/work-done',
        header: ['X-Webhook-Token', 'TOKEN'],
        event: eventJson('evt-n8n-1', { log: '09:30 queue stopped, 4 jobs removed, queue started' }),
      }),
    },
    success(
      'The webhook responds with `201`, with the entry and the note. The run is in the tab **Executions**, and the node **Log time** shows this:',
    ),
  ],
  failures: [
    ['`403` from the webhook', 'The token is missing or wrong. Compare it with the credential of **Work done**.'],
    ['`404` from the webhook, “not registered”', 'The workflow is not published, or the address has `/webhook-test/`.'],
    [
      '`400` from the webhook',
      'The event is incomplete: eventId, ticketId, description and log must not be empty. Nothing was sent.',
    ],
    ['`409` from the webhook', 'Another event used this eventId before. Nothing was written now.'],
    [
      '`429` in the executions',
      'Keep **Batching** of 5 items and 1,000 ms, and **Retry On Fail** with 5 tries and 5,000 ms.',
    ],
  ],
  retries:
    'None unless **Retry On Fail** is on; in the imported nodes it is. n8n then retries after any failure, up to 5 tries, and sends all items of the node again. Without an Idempotency-Key, each retry would write the items again.',
  checked: [
    'Run: a test of this project downloads the workflow with the command for bash, runs its expressions and its order of nodes without n8n, and sends its requests to the service. Another one sends 150 items at once, as n8n does, and the whole batch up to 5 times: each item is written once.',
    'Not run: n8n itself, and the commands for PowerShell.',
    'Names of controls: docs.n8n.io, pages “Webhook”, “HTTP Request” and “Save and publish workflows”, read on 22 November 2026 in a stored copy.',
  ],
};
