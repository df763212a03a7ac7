import {
  copyAddress,
  EVENT_ID_RULES,
  eventJson,
  MAX_TEXT,
  PINGED,
  pingAddress,
  randomToken,
  sendEvent,
  success,
  TICKET,
  TIME_KEY,
} from './common.ts';
import type { Recipe } from './recipe.ts';

/** The code of the Code step, whole. Zapier passes every value of inputData as a text. */
const code = (origin: string) => `// Input Data: eventId, ticketId, minutes, description, billable
const { eventId = '', ticketId = '', minutes = '', description = '', billable = '' } = inputData;

// Without an id, all events would share one Idempotency-Key, and only the first would be written.
if (!/^[!-~]{1,200}$/.test(eventId)) throw new Error('eventId is empty or has a space. Nothing was written.');
if (ticketId === '') throw new Error('ticketId is empty. Nothing was written.');

return {
  url: \`${origin}/api/v1/tickets/\${encodeURIComponent(ticketId)}/time-entries\`,
  idempotencyKey: \`triage:\${eventId}\`,
  // Escapes quotes and line breaks, and cuts a long text without splitting a character.
  body: JSON.stringify({
    minutes: Number(minutes),
    description: Array.from(description).slice(0, ${MAX_TEXT}).join(''),
    billable: billable.toLowerCase() === 'true',
  }),
};
`;

/** A Catch Hook does not show headers to the Zap, so the token is a field of the event. */
const send = (eventId: string, label?: string) =>
  sendEvent({
    ...(label && { label }),
    url: 'https://hooks.zapier.com/hooks/catch/YOUR-HOOK/',
    event: eventJson(eventId, { token: 'TOKEN' }),
  });

export const zapier: Recipe = {
  slug: 'zapier',
  tool: 'Zapier',
  lead: 'From a new Zap to the first time entry. The key is in a connection, never in a step.',
  needs: [
    TIME_KEY,
    TICKET,
    'A paid plan of Zapier: Webhooks by Zapier and API by Zapier are premium apps. API by Zapier is a beta.',
  ],
  steps: (origin) => [
    copyAddress(origin, 'The addresses in the later steps begin with it.'),
    {
      title: 'Make a token for the webhook',
      text: [
        'A Catch Hook has no authentication of its own: anyone who knows its address could log time. Run this, or use any other long random value. If your events come from an app that Zapier knows, use the trigger of that app instead, and leave out the steps about the token.',
      ],
      code: randomToken,
    },
    {
      title: 'Add the trigger',
      text: [
        'Create a Zap. As trigger, choose **Webhooks by Zapier** with the event **Catch Hook**. Copy the address that Zapier shows.',
      ],
    },
    {
      title: 'Show Zapier an event',
      text: [
        'Run this with your address and your token. Then select **Test trigger**. Zapier learns the fields from it.',
      ],
      code: send('evt-zapier-1'),
    },
    {
      title: 'Protect the webhook',
      text: ['Add the step **Filter by Zapier**. Set **Only continue if** to:'],
      fields: [
        ['Field', '`Token` of the trigger'],
        ['Condition', '(Text) Exactly matches'],
        ['Value', 'the token'],
      ],
    },
    {
      title: 'Store the key',
      text: ['Add the step **API by Zapier** with the event **API Request**. Create a connection, and enter:'],
      fields: [
        ['Authentication type', 'Static Headers (API key)'],
        ['Header', '`Authorization`'],
        ['Value', '`Bearer`, a space, and the key'],
        ['Domain filter', `\`${new URL(origin).hostname}\``],
      ],
    },
    {
      title: 'Ping',
      text: [
        'In this step, set **Method** to **GET** and **URL** to this address. Select **Test step**. It checks the key and writes nothing.',
      ],
      code: pingAddress(origin),
      after: [`The status is \`200\`. ${PINGED}`],
    },
    {
      title: 'Add a Code step before it',
      text: [
        'Between the filter and the request, add **Code by Zapier** with the event **Run JavaScript**. Under **Input Data**, add these five names, each with the field of the same name of the trigger:',
      ],
      code: { label: 'Names of the input data', text: 'eventId\nticketId\nminutes\ndescription\nbillable' },
      after: [...EVENT_ID_RULES, 'The code refuses an empty event id before that, and the run stops.'],
    },
    {
      title: 'Paste the code',
      text: [
        'Replace everything in **Code** with this. Select **Test step**: the output is `url`, `idempotencyKey` and `body`.',
      ],
      code: { label: 'Code', text: code(origin) },
    },
    {
      title: 'Send its output',
      text: ['Open the step **API by Zapier** again. Change these fields, with the output of the Code step:'],
      fields: [
        ['Method', 'POST'],
        ['URL', '`url`'],
        ['Header `Idempotency-Key`', '`idempotencyKey`'],
        ['Header `Content-Type`', '`application/json`'],
        ['Body', '`body`'],
      ],
    },
    {
      title: 'Publish the Zap',
      text: ['Select **Publish**.'],
    },
    {
      title: 'Let Zapier retry',
      text: ['If your plan has it, turn on **Autoreplay** in **Zap history**.'],
    },
    {
      title: 'Send one event',
      text: ['Use your address and your token again. This event has a new id.'],
      code: send('evt-zapier-2', 'Send another event'),
    },
    success(
      'Open **Zap history**, then the latest run, and then the step API by Zapier. The status is `201`, and the output has the entry:',
    ),
  ],
  failures: [
    ['The run stops at the filter', 'The token of the event is not the one in the filter.'],
    [
      '`eventId is empty or has a space`',
      'The Code step stopped the run before the request. Map a field that every event has.',
    ],
    [
      'The hook responds with `success`, and nothing is written',
      'A Catch Hook always responds with `success`. Look at the run in **Zap history**.',
    ],
  ],
  retries:
    'With Autoreplay, up to 5 retries over about 10 hours: after 5 minutes, 30 minutes, 1, 3 and 6 hours. A late retry can get the next work date. Without Autoreplay there are no retries.',
  checked: [
    'Not run: Zapier needs an account.',
    'Run: a test of this project runs the code of the Code step with texts as input, as Zapier passes them, and sends its output to the service.',
    'Names of fields: help.zapier.com, articles “Send API requests in Zaps”, “Trigger Zaps from webhooks”, “JavaScript code examples in Zap workflows” and “What is replay?”, read on 22 November 2026 in a stored copy. The schedule of Autoreplay is from an older page, zapier.com/help/autoreplay. The fields of the connection are from the instructions of another service, of August 2026.',
  ],
};
