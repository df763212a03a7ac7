import {
  copyAddress,
  ENTRY,
  EVENT_ID_RULES,
  eventJson,
  PINGED,
  pingAddress,
  randomToken,
  sendEvent,
  success,
  TICKET,
  TIME_KEY,
  timeEntries,
} from './common.ts';
import type { Recipe } from './recipe.ts';

const hook = {
  url: 'https://hook.eu1.make.com/YOUR-WEBHOOK',
  header: ['x-make-apikey', 'TOKEN'],
} as const;

export const make: Recipe = {
  slug: 'make',
  tool: 'Make',
  lead: 'From a new scenario to the first time entry, with the app HTTP, version 4.',
  needs: [TIME_KEY, TICKET],
  steps: (origin) => [
    copyAddress(origin, 'The addresses in the later steps begin with it.'),
    {
      title: 'Make a token for the webhook',
      text: [
        'Without a token, anyone who knows the address of the webhook can log time. Run this, or use any other long random value. Keep it for the next steps.',
      ],
      code: randomToken,
    },
    {
      title: 'Add the webhook',
      text: [
        'Create a scenario. Add the module **Webhooks > Custom webhook**. Next to **Webhook**, select **Add**, and enter a **Webhook name**.',
      ],
    },
    {
      title: 'Protect the webhook',
      text: [
        'In the same dialog, under **API Key authentication**, select **Add API key** and then **Create a keychain**. Enter:',
      ],
      fields: [
        ['Name', '`Work done`'],
        ['API key value', 'the token'],
      ],
      after: ['Select **Create**, and then **Save**. Copy the address that Make shows.'],
    },
    {
      title: 'Show Make an event',
      text: [
        'Select **Run once**. While Make waits, run this with your address and your token. Make learns the fields from it.',
      ],
      code: sendEvent({ ...hook, event: eventJson('evt-make-1') }),
    },
    {
      title: 'Add the request',
      text: ['After the webhook, add the module **HTTP > Make a request**. If a version is offered, choose version 4.'],
    },
    {
      title: 'Store the key',
      text: [
        'Set **Authentication type** to **API key**. Next to **Credentials**, select **Add**. The key is then in the keychain of Make, and not in the scenario. Enter:',
      ],
      fields: [
        ['Name', '`Tickets`'],
        ['Key', '`Bearer`, a space, and the key'],
        ['API key placement', 'In the header'],
        ['API key parameter name', '`Authorization`'],
      ],
    },
    {
      title: 'Ping',
      text: [
        'Set **URL** to this address and **Method** to **GET**. Save the module, right-click it, and select **Run this module only**. It checks the key and writes nothing.',
      ],
      code: pingAddress(origin),
      after: [`The output has the status code \`200\`. ${PINGED}`],
    },
    {
      title: 'Change the request to a time entry',
      text: [
        'Set **Method** to **POST**, and **URL** to this address. `{{1.ticketId}}` is the field `ticketId` of the webhook.',
      ],
      code: { label: 'URL', text: timeEntries(origin, '{{1.ticketId}}') },
      after: [
        'If Make shows it as plain text, delete it, and choose the field from the list that opens when you click into the address. Do the same for the fields in the next steps.',
      ],
    },
    {
      title: 'Set the Idempotency-Key',
      text: [
        'Under **Headers**, add a header with the name `Idempotency-Key`. Its value is `triage:` and the field `eventId` of the webhook:',
        ...EVENT_ID_RULES,
      ],
      code: { label: 'Value of Idempotency-Key', text: 'triage:{{1.eventId}}' },
    },
    {
      title: 'Describe the body',
      text: [
        'Set **Body content type** to **application/json** and **Body input method** to **Data structure**. Next to **Body structure**, select **Add**, then **Generate**, and paste this sample. Make then escapes quotes and line breaks, and sends a number as a number.',
      ],
      code: { label: 'Sample of the body', text: ENTRY },
    },
    {
      title: 'Fill the body',
      text: [
        'Under **Body content**, put the fields `minutes`, `description` and `billable` of the webhook into the fields of the same name.',
      ],
    },
    {
      title: 'Make failures visible',
      text: ['Without the second setting, a failed write looks like a success.'],
      fields: [
        ['Parse response', 'Yes'],
        ['Return error if HTTP request fails', 'Yes'],
      ],
    },
    {
      title: 'Let Make retry',
      text: ['In the settings of the scenario, turn on **Store incomplete executions**.'],
    },
    {
      title: 'Turn the scenario on',
      text: ['Set the schedule to **Immediately as data arrives**, and turn the scenario on.'],
    },
    {
      title: 'Send one event',
      text: ['Use your address and your token again. This event has a new id.'],
      code: sendEvent({ ...hook, label: 'Send another event', event: eventJson('evt-make-2') }),
    },
    success(
      'Open **History**, then the latest run, and then the module HTTP. **Status Code** is `201`, and **Data** has the entry:',
    ),
  ],
  failures: [
    ['`401` from the webhook', 'The header `x-make-apikey` is missing, or its value is not the token.'],
    [
      '`{{1.ticketId}}` arrives as text',
      'The field was pasted and not mapped: choose it from the list that Make shows.',
    ],
  ],
  retries:
    'With **Store incomplete executions**, Make retries after rate limits, lost connections and timeouts: first after 1 minute, then after 10, 10, 30, 30 and 30 minutes, and after hours. A Break error handler retries other errors as often as you configure. Without either there are no retries. A late retry can get the next work date.',
  checked: [
    'Not run: Make needs an account.',
    'Run: a test of this project sends the body and the headers of this page to the service.',
    'Names of fields and retries: apps.make.com/http (version 4), apps.make.com/api-key-authentication-type and apps.make.com/gateway, help.make.com/automatic-retry-of-incomplete-executions and help.make.com/options-related-to-incomplete-executions, read on 22 November 2026 in a stored copy. The labels of the body are from exported scenarios with version 4 of the module.',
  ],
};
