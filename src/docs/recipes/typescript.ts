import {
  addressCommands,
  copyAddress,
  EVENT_ID_RULES,
  keepKey,
  PINGED,
  pingCommands,
  success,
  TICKET,
  TIME_KEY,
} from './common.ts';
import type { Recipe } from './recipe.ts';

/** A program that logs time for the event that its argument names. */
const PROGRAM = `import { logTime, ticketClient } from './client.ts';

const [eventId] = process.argv.slice(2);
if (!eventId) throw new Error('Name the event: node main.ts evt-typescript-1');

const tickets = ticketClient(\`\${process.env['TICKETS_URL']}/api/v1\`, process.env['TICKETS_API_KEY'] ?? '');
const result = await logTime(tickets, '1001', \`triage:\${eventId}\`, {
  minutes: 30,
  description: 'Cleared the print queue',
  billable: true,
});
console.log('idempotentReplay' in result ? 200 : 201, result.entry.id);
`;

const MAKE_TYPES =
  'npx -p typescript@5 -p openapi-typescript openapi-typescript "$TICKETS_URL/api/v1/openapi.json" -o api.d.ts';

export const typescript: Recipe = {
  slug: 'typescript',
  tool: 'TypeScript',
  lead: 'From an empty folder to the first time entry, with types made from the OpenAPI document. Node.js 22.18 or newer.',
  needs: [TIME_KEY, TICKET, 'Node.js 22.18 or newer, which runs TypeScript: `node --version`.'],
  steps: (origin) => [
    {
      ...copyAddress(origin, 'Run this in a terminal. The commands and the program read the variable.'),
      code: addressCommands(origin),
    },
    keepKey,
    { title: 'Ping', text: ['It checks the key and writes nothing.'], code: pingCommands, after: [PINGED] },
    {
      title: 'Make a project',
      text: ['In an empty folder:'],
      code: {
        label: 'Make a project',
        bash: 'npm init -y && npm pkg set type=module && npm install openapi-fetch',
        powershell: 'npm init -y; npm pkg set type=module; npm install openapi-fetch',
      },
    },
    {
      title: 'Make the types',
      text: ['Repeat this when the API has new fields.'],
      code: {
        label: 'Make the types',
        bash: MAKE_TYPES,
        powershell: MAKE_TYPES.replace('$TICKETS_URL', '$env:TICKETS_URL'),
      },
    },
    {
      title: 'Download the client',
      text: [
        'Put it into the same folder. `logTime` retries, and after `technician_not_eligible` it sends the entry again without userEmail. `limitText` cuts a long text without splitting a character.',
      ],
      download: { file: 'client.ts', label: 'client.ts' },
    },
    {
      title: 'Save the program',
      text: ['Save it as `main.ts`.', ...EVENT_ID_RULES],
      code: { label: 'main.ts', text: PROGRAM },
    },
    {
      title: 'Run it',
      code: {
        label: 'Run the program',
        bash: 'node main.ts evt-typescript-1',
        powershell: 'node main.ts evt-typescript-1',
      },
    },
    success('The program prints `201` and the id of the entry. The whole response is in `result`:'),
  ],
  failures: [],
  retries:
    'None built into `fetch`. The client tries up to 10 times after 429, 5xx and lost connections, and waits at least for the seconds in `Retry-After`, unless these are more than 120.',
  checked: [
    'Run: a test of this project makes the types, compiles the client and the program in strict mode, runs the program, and writes during bursts that exceed the rate limit.',
    'Not run: the commands for PowerShell.',
  ],
};
