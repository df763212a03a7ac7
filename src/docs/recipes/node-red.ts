import {
  addressCommands,
  copyAddress,
  EVENT_ID_RULES,
  eventJson,
  keepKey,
  PINGED,
  sendEvent,
  success,
  TICKET,
  TIME_KEY,
} from './common.ts';
import type { Recipe } from './recipe.ts';

export const nodeRed: Recipe = {
  slug: 'node-red',
  tool: 'Node-RED',
  lead: 'From an installed Node-RED to the first time entry. Node-RED 4 or newer.',
  needs: [TIME_KEY, TICKET, 'Node-RED, started from a terminal or a service whose environment you can set.'],
  steps: (origin) => [
    {
      ...copyAddress(
        origin,
        'Run this in the terminal that starts Node-RED. The flow reads the variable, so the exported flow has neither address nor key.',
      ),
      code: addressCommands(origin),
    },
    keepKey,
    {
      title: 'Make a token for the webhook',
      text: [
        'Without a token, anyone who can reach Node-RED can log time. The command shows it; keep it for the last request.',
      ],
      code: {
        label: 'Make a token',
        bash: 'export WEBHOOK_TOKEN=$(openssl rand -hex 32); echo "$WEBHOOK_TOKEN"',
        powershell:
          "$env:WEBHOOK_TOKEN = [guid]::NewGuid().ToString('N') + [guid]::NewGuid().ToString('N'); $env:WEBHOOK_TOKEN",
      },
    },
    {
      title: 'Start Node-RED',
      text: ['In the same terminal. If Node-RED is a service, set the three variables in its settings and restart it.'],
      code: { label: 'Start Node-RED', bash: 'node-red', powershell: 'node-red' },
    },
    {
      title: 'Import the flow',
      text: [
        'Download the file. In the menu of Node-RED, select **Import**, then **select a file to import**, and then **Import**.',
      ],
      download: { file: 'node-red.json', label: 'node-red.json' },
    },
    { title: 'Deploy it', text: ['Select **Deploy**.'] },
    {
      title: 'Ping',
      text: ['Select the button of the node **Test the key**. It checks the key and writes nothing.'],
      after: [`Open the sidebar **Debug**. ${PINGED}`],
    },
    {
      title: 'Check where the event id comes from',
      text: [
        'The node **Build time entry** takes it from `eventId`, and makes `triage:<eventId>` of it. If your sender names the field differently, change it there.',
        ...EVENT_ID_RULES,
        'This flow refuses an empty event id before that, with `400`.',
      ],
    },
    {
      title: 'Send one event',
      text: ['Run this in another terminal. Replace `TOKEN` with the token. Add userEmail to credit a technician.'],
      code: sendEvent({
        url: 'http://localhost:1880/work-done',
        header: ['X-Webhook-Token', 'TOKEN'],
        event: eventJson('evt-node-red-1'),
      }),
    },
    success('The flow responds after the entry is written, with `201` and the entry:'),
  ],
  failures: [
    [
      '`401` with “X-Webhook-Token”',
      'The token of the request is missing, or is not the one that Node-RED was started with.',
    ],
    [
      '`500` with “Set TICKETS_URL”',
      'A variable is missing. Set all three, and start Node-RED again from that terminal.',
    ],
    ['`409`', 'Another event used this eventId before. Nothing was written now.'],
  ],
  retries:
    'None built into Node-RED. The flow tries up to 20 times after 429, 5xx and lost connections, and waits at least for the seconds in `Retry-After`, unless these are more than 120. After `technician_not_eligible`, it sends the request again without userEmail.',
  checked: [
    'Run: a command of this project runs the flow in Node-RED 5.0.7. With a limit of 10 requests per 10 seconds, 20 events at once create 20 entries. When the events are delivered again, the result is 20 replays. A test runs the code of the flow without Node-RED.',
    'Not run: the commands for PowerShell.',
  ],
};
