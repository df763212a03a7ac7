import type { Child } from 'hono/jsx';
import { RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { type Scope, writableKinds } from '../../../domain/scopes.ts';
import { Code } from '../../page/code.tsx';
import { Tabs } from '../../page/tabs.tsx';

interface Props {
  /** The name of the key, which often begins with the tool that uses it. */
  name: string;
  scopes: readonly Scope[];
  /** The origin of this deployment, such as https://api.example. */
  origin: string;
}

interface Tool {
  name: string;
  recipe: string;
  setUp: readonly string[];
  /** How to see that it works. Without it, the recipe’s flow has its own test. */
  check?: string;
  /** Where the address, the method and the body are entered. */
  request?: string;
}

/** The variable that holds the key: in a command it would stay in the shell’s history. */
const VARIABLE = 'TICKETS_API_KEY';

const TOOLS: readonly Tool[] = [
  {
    name: 'n8n',
    recipe: 'n8n',
    setUp: [
      'HTTP Request node: set Authentication to “Generic Credential Type” and then “Bearer Auth”.',
      'Create the credential. Enter only the key: n8n adds the word Bearer.',
    ],
    check: 'Execute the node. You should see 200 and this key’s name.',
    request: 'In a second HTTP Request node with the same credential',
  },
  {
    name: 'Make',
    recipe: 'make',
    setUp: [
      'App HTTP, version 4: “Make a request”, method GET.',
      'Set “Authentication type” to “API key”, and add credentials: in the header, with the name Authorization.',
      'As their key, enter “Bearer”, a space, and the key.',
    ],
    check: 'Run this module only. You should see the status 200.',
    request: 'In a second module with the same credentials',
  },
  {
    name: 'Zapier',
    recipe: 'zapier',
    setUp: [
      '“API by Zapier”, event “API Request”, method GET.',
      'Create a connection with “Static Headers (API key)”, and the header Authorization.',
      'As its value, enter “Bearer”, a space, and the key.',
    ],
    check: 'Test the step. You should see this key’s name.',
    request: 'In a second step with the same connection',
  },
  {
    name: 'Power Automate',
    recipe: 'power-automate',
    setUp: [
      'Action HTTP (premium), method GET. Turn on “Secure inputs” in its settings.',
      'For this test only, add the header Authorization with the value “Bearer”, a space, and the key. Delete it afterwards: the recipe stores the key in an environment variable.',
    ],
    check: 'Test the flow. You should see the status 200.',
    request: 'In a second action with the same header Authorization',
  },
  {
    name: 'Node-RED',
    recipe: 'node-red',
    setUp: [
      `Set three environment variables for Node-RED: TICKETS_URL (the address of this service), ${VARIABLE} (the key), and WEBHOOK_TOKEN (a long random value that protects the webhook of the flow).`,
      'Import the recipe’s flow, and select the button of “Test the key”.',
    ],
  },
];

/** How to try a key in each tool. The tab of a tool that the key is named after is open. */
export function TryKey(props: Props) {
  const tabs: [name: string, recipe: string, content: Child][] = [
    ['bash', 'curl', <Shell {...props} commands={bash} name="bash" />],
    ['PowerShell', 'powershell', <Shell {...props} commands={powerShell} name="PowerShell" />],
    ...TOOLS.map((tool) => [tool.name, tool.recipe, <ToolSteps {...props} tool={tool} />] as [string, string, Child]),
  ];
  const isNamed = (tool: string) => new RegExp(`(?<![a-z])${tool}(?![a-z])`, 'i').test(props.name);
  return (
    <Tabs
      group="tool"
      legend="Where you use the key"
      isCard
      chosen={tabs.find(([name]) => isNamed(name))?.[1]}
      tabs={tabs.map(([name, recipe, content]) => ({
        id: recipe,
        label: name,
        name,
        content: (
          <>
            {content}
            <p>
              <a href={`/docs/recipes/${recipe}`}>The whole recipe for {name === 'bash' ? 'curl' : name}</a>
            </p>
          </>
        ),
      }))}
    />
  );
}

interface Request {
  path: string;
  address: string;
  body: string;
}

const bash = {
  enter: `read -rs ${VARIABLE} && export ${VARIABLE}`,
  ping: (address: string) => `curl ${address} -H "Authorization: Bearer $${VARIABLE}"`,
  variables: `TICKET_ID='1001'\nEVENT_ID="evt-$(date +%s)-$RANDOM"`,
  write: ({ path, body }: Request, origin: string) => `curl ${origin}/api/v1/tickets/$TICKET_ID/${path} \\
  -H "Authorization: Bearer $${VARIABLE}" \\
  -H 'Content-Type: application/json' -H "Idempotency-Key: my-workflow:$EVENT_ID" \\
  -d '${body}'`,
};

const powerShell: typeof bash = {
  enter: `$env:${VARIABLE} = Read-Host 'Key'`,
  ping: (address) => `Invoke-RestMethod ${address} -Headers @{ Authorization = "Bearer $env:${VARIABLE}" }`,
  variables: `$ticketId = '1001'\n$eventId = 'evt-' + [guid]::NewGuid()`,
  write: ({ path, body }, origin) => `Invoke-RestMethod -Method Post "${origin}/api/v1/tickets/$ticketId/${path}" \`
  -Headers @{ Authorization = "Bearer $env:${VARIABLE}"; 'Idempotency-Key' = "my-workflow:$eventId" } \`
  -ContentType 'application/json' -Body '${body}'`,
};

const pingAddress = (origin: string) => `${origin}/api/v1/ping`;

/** What to send for a first record of each kind that the key can write. */
const firstRequests = ({ scopes, origin }: Props): (Request & { purpose: string })[] =>
  writableKinds(scopes).map((kind) => {
    const { path, example } = RECORD_KINDS[kind];
    const body = JSON.stringify(example.body);
    return { path, address: `${origin}/api/v1/tickets/TICKET/${path}`, body, purpose: example.purpose };
  });

/** Commands that read the key from a variable, so that they can be copied and shown to others. */
function Shell({ commands, ...props }: Props & { commands: typeof bash }) {
  const requests = firstRequests(props);
  const [first] = requests;
  return (
    <>
      <p>1. Enter this, then paste the key and press Enter. The key does not stay in the history:</p>
      <Code label={`${props.name}: enter the key`} title={props.name}>
        {commands.enter}
      </Code>
      <p>2. Check that the key works:</p>
      <Code label={`${props.name}: ping`} title={props.name}>
        {commands.ping(pingAddress(props.origin))}
      </Code>
      <p>3. Set a ticket ID, and an ID for the event: a new one for each event, the same one for a retry:</p>
      <Code label={`${props.name}: ticket and event`} title={props.name}>
        {commands.variables}
      </Code>
      {first && (
        <>
          <p>4. Check the ticket with a dry run, which writes nothing. You should see 200:</p>
          <Code label={`${props.name}: dry run`} title={props.name}>
            {commands.write({ ...first, path: `${first.path}/dry-run` }, props.origin)}
          </Code>
        </>
      )}
      {requests.map((request, index) => (
        <>
          <p>
            {index + 5}. {request.purpose}:
          </p>
          <Code label={`${props.name}: ${request.purpose}`} title={props.name}>
            {commands.write(request, props.origin)}
          </Code>
        </>
      ))}
      <p class="minor">You should see 201. Send the same command again: it gets 200 and writes nothing.</p>
    </>
  );
}

/** The steps in a tool without code: the key, ping, and a first record. */
function ToolSteps({ tool: { name, setUp, check, request }, ...props }: Props & { tool: Tool }) {
  const [first] = firstRequests(props);
  return (
    <ol>
      {setUp.map((step) => (
        <li>{step}</li>
      ))}
      {check && (
        <li>
          Enter the address of ping:
          <Code label={`${name}: address of ping`} title="Address">
            {pingAddress(props.origin)}
          </Code>
          {check}
        </li>
      )}
      {request && first && (
        <li>
          {first.purpose}. {request}, set the method to POST, the header Idempotency-Key to{' '}
          <code>
            my-workflow:first-<span data-random="view">REPLACE-ME</span>
          </code>
          , and the body to JSON. Replace TICKET with a ticket ID. With <code>/dry-run</code> at the end of the address,
          the step gets 200 and writes nothing:
          <Code label={`${name}: address of the first write`} title="Address">
            {first.address}
          </Code>
          <Code label={`${name}: body of the first write`} title="Body">
            {first.body}
          </Code>
          You should see 201. Run again, the step gets 200 and writes nothing.
        </li>
      )}
    </ol>
  );
}
