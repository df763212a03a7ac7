import {
  copyAddress,
  EVENT_ID_RULES,
  eventJson,
  PINGED,
  pingAddress,
  success,
  TICKET,
  TIME_KEY,
  timeEntries,
} from './common.ts';
import type { Commands, Recipe } from './recipe.ts';

/** The audience of tokens for flows in the public cloud. */
const AUDIENCE = 'https://service.flow.microsoft.com/';

/** Sends the event as the signed-in user: the trigger accepts no one else. */
const send = (eventId: string, label = 'Send the event'): Commands => ({
  label,
  bash: `TOKEN=$(az account get-access-token --resource ${AUDIENCE} --query accessToken --output tsv)
curl -i 'YOUR-HTTP-URL' \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '${eventJson(eventId)}'`,
  powershell: `$token = az account get-access-token --resource ${AUDIENCE} --query accessToken --output tsv
Invoke-WebRequest -UseBasicParsing -Method Post 'YOUR-HTTP-URL' \`
  -Headers @{ Authorization = "Bearer $token" } -ContentType 'application/json' \`
  -Body '${eventJson(eventId)}'`,
});

const BODY = `setProperty(setProperty(setProperty(json('{}'),
  'minutes', triggerBody()?['minutes']),
  'description', triggerBody()?['description']),
  'billable', triggerBody()?['billable'])`;

export const powerAutomate: Recipe = {
  slug: 'power-automate',
  tool: 'Power Automate',
  lead: 'From a new cloud flow to the first time entry, in a solution, with the action HTTP.',
  needs: [
    'A Power Automate Premium or Process licence: the action **HTTP** and the trigger **When an HTTP request is received** are premium, and not part of Microsoft 365.',
    TIME_KEY,
    TICKET,
    'To send test events: the Azure CLI, signed in with `az login`.',
  ],
  steps: (origin) => [
    copyAddress(origin, 'The addresses in the later steps begin with it.'),
    {
      title: 'Open a solution',
      text: [
        'In make.powerautomate.com, open **Solutions**, and then your solution or a **New solution**. Only flows in a solution can read environment variables.',
      ],
    },
    {
      title: 'Store the key',
      text: ['In the solution, select **New > More > Environment variable**. Enter:'],
      fields: [
        ['Display name', '`Tickets API key`'],
        ['Name', '`TicketsApiKey`, after the prefix of your publisher'],
        ['Data type', 'Text'],
        ['Current value', '`Bearer`, a space, and the key'],
      ],
      after: [
        'Everyone who may edit this environment can read a variable of the type Text. If others may, choose the type **Secret** with **Azure Key Vault**. The flow then reads it with the action **Perform an unbound action**, `RetrieveEnvironmentVariableSecretValue`, with **Secure outputs** on.',
      ],
    },
    {
      title: 'Create the flow',
      text: [
        'In the solution, select **New > Automation > Cloud flow > Automated**. As trigger, choose **When an HTTP request is received**. If it is not in the list, select **Skip**, and search for it in the designer. If your events come from an app that Power Automate knows, choose the trigger of that app instead.',
      ],
    },
    {
      title: 'Protect the trigger',
      text: [
        'Set **Who can trigger the flow** to **Any user in my tenant** or **Specific users in my tenant**. With **Anyone**, everyone who knows the address could log time.',
      ],
    },
    {
      title: 'Describe the event',
      text: ['In the trigger, select **Use sample payload to generate schema**, and paste this:'],
      code: { label: 'Sample payload', text: eventJson('evt-power-automate-1') },
    },
    {
      title: 'Add the request',
      text: ['Add the action **HTTP**. Set **Method** to **GET**, and **URI** to this address:'],
      code: pingAddress(origin),
    },
    {
      title: 'Add the key',
      text: [
        'Under **Headers**, add `Authorization`. As its value, insert **Tickets API key** from the dynamic content, where it is listed as an environment variable. The designer writes it as a parameter, with the prefix of your publisher:',
      ],
      code: { label: 'Value of Authorization', text: "@{parameters('Tickets API key (new_TicketsApiKey)')}" },
    },
    {
      title: 'Hide the key from the run history',
      text: ['In the **Settings** of the action HTTP, turn on **Secure inputs**.'],
    },
    {
      title: 'Save the flow',
      text: ['Select **Save**. The trigger now has an **HTTP URL**. Copy it.'],
    },
    {
      title: 'Ping',
      text: [
        'Run this with your HTTP URL. The flow sends a ping: it checks the key and writes nothing. The token in the command shows that you are a user of the tenant.',
      ],
      code: send('evt-power-automate-1'),
      after: [`Open the run under **28-day run history**. The action HTTP has the status \`200\`. ${PINGED}`],
    },
    {
      title: 'Change the request to a time entry',
      text: ['Set **Method** to **POST**, and **URI** to this:'],
      code: { label: 'URI', text: timeEntries(origin, "@{triggerBody()?['ticketId']}") },
    },
    {
      title: 'Set the Idempotency-Key',
      text: [
        'Under **Headers**, add `Idempotency-Key` with this value. Never use `workflow().run.name`: it changes when a run is submitted again.',
        ...EVENT_ID_RULES,
      ],
      code: { label: 'Value of Idempotency-Key', text: "triage:@{triggerBody()?['eventId']}" },
    },
    {
      title: 'Set the body',
      text: [
        'Click into **Body**, select **fx**, and paste this expression. It escapes quotes and line breaks, and sends a number as a number.',
      ],
      code: { label: 'Expression for Body', text: BODY },
    },
    {
      title: 'Set the content type',
      text: ['Under **Headers**, add:'],
      fields: [['`Content-Type`', '`application/json`']],
    },
    {
      title: 'Let the action retry',
      text: ['In the **Settings** of the action HTTP, under **Networking**, set **Retry policy** to:'],
      fields: [
        ['Type', 'Fixed interval'],
        ['Count', '`5`'],
        ['Interval', '`PT10S`'],
      ],
    },
    { title: 'Save the flow again', text: ['Select **Save**.'] },
    {
      title: 'Send one event',
      text: ['Run this with your HTTP URL. This event has a new id.'],
      code: send('evt-power-automate-2', 'Send another event'),
    },
    success('Open the latest run. The action HTTP has the status `201`, and its body has the entry:'),
  ],
  failures: [
    [
      '`401` from the trigger',
      'The token is not for this tenant or not for flows. Run `az login` in the right tenant.',
    ],
    [
      'The environment variable is not listed',
      'The flow is not in a solution, or was open when the variable was made: open it again.',
    ],
    [
      'An old key is still used',
      'A flow keeps the previous value of an environment variable until it is saved, or turned off and on.',
    ],
    [
      '`technician_not_eligible`, if you send userEmail',
      'Add a second action HTTP without userEmail and with the same Idempotency-Key, to run after the first one has failed.',
    ],
  ],
  retries:
    'By default, up to 4 retries with increasing delays after 408, 429, 5xx and lost connections; with the policy above, 5 retries. Other 4xx responses are not retried.',
  checked: [
    'Not run: Power Automate needs an account and a licence.',
    'Run: a test of this project sends the request that these settings make to the service.',
    'Names of fields and retries: learn.microsoft.com, pages “Add OAuth authentication for HTTP request triggers” (29 April 2026), “Use environment variables in Power Automate solution cloud flows” (11 December 2023), “Use environment variables for Azure Key Vault secrets” (15 August 2024) and “Handle errors and exceptions in Azure Logic Apps”, read on 22 November 2026 in a stored copy.',
  ],
};
