import type { Child, PropsWithChildren } from 'hono/jsx';
import { RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { type Scope, writableKinds } from '../../../domain/scopes.ts';
import { Tabs } from '../../page/tabs.tsx';

interface Props {
  scopes: readonly Scope[];
  /** The origin of this deployment, such as https://api.example. */
  origin: string;
}

interface Tool {
  name: string;
  /** Its recipe in the documentation. */
  recipe: string;
  content: (props: Props) => Child;
}

/** The variable that holds the key: in a command it would stay in the history of the shell. */
const VARIABLE = 'TICKETS_API_KEY';

const TOOLS: readonly Tool[] = [
  { name: 'bash', recipe: 'curl', content: (props) => <Bash {...props} /> },
  { name: 'PowerShell', recipe: 'powershell', content: (props) => <PowerShell {...props} /> },
  {
    name: 'n8n',
    recipe: 'n8n',
    content: ({ origin }) => (
      <Steps origin={origin} check="Execute the node. You should see 200 and the name of this key.">
        <li>HTTP Request node: set Authentication to “Generic Credential Type” and then “Bearer Auth”.</li>
        <li>Create the credential. Enter only the key: n8n adds the word Bearer.</li>
      </Steps>
    ),
  },
  {
    name: 'Make',
    recipe: 'make',
    content: ({ origin }) => (
      <Steps origin={origin} check="Run this module only. You should see the status 200.">
        <li>App HTTP, version 4: “Make a request”, method GET.</li>
        <li>
          Set “Authentication type” to “API key”, and add credentials: in the header, with the name Authorization.
        </li>
        <li>As their key, enter “Bearer”, a space, and the key.</li>
      </Steps>
    ),
  },
  {
    name: 'Zapier',
    recipe: 'zapier',
    content: ({ origin }) => (
      <Steps origin={origin} check="Test the step. You should see the name of this key.">
        <li>“API by Zapier”, event “API Request”, method GET.</li>
        <li>Create a connection with “Static Headers (API key)”, and the header Authorization.</li>
        <li>As its value, enter “Bearer”, a space, and the key.</li>
      </Steps>
    ),
  },
  {
    name: 'Power Automate',
    recipe: 'power-automate',
    content: ({ origin }) => (
      <Steps origin={origin} check="Test the flow. You should see the status 200.">
        <li>Action HTTP (premium), method GET. Turn on “Secure inputs” in its settings.</li>
        <li>Add the header Authorization with the value “Bearer”, a space, and the key.</li>
      </Steps>
    ),
  },
  {
    name: 'Node-RED',
    recipe: 'node-red',
    content: ({ origin }) => (
      <>
        <p>
          Set two environment variables for Node-RED, import the flow of the recipe, and select the button of “Test the
          key”:
        </p>
        <dl class="facts">
          <div>
            <dt>TICKETS_URL</dt>
            <dd>
              <code>{origin}</code>
            </dd>
          </div>
          <div>
            <dt>{VARIABLE}</dt>
            <dd>the key</dd>
          </div>
        </dl>
      </>
    ),
  },
];

/**
 * How to try a new key in each tool: tabs, which work without script. The commands read the key from
 * a variable, so that they can be copied and shown to others.
 */
export function TryKey(props: Props) {
  return (
    <Tabs
      group="tool"
      legend="Where you use the key"
      isCard
      tabs={TOOLS.map(({ name, recipe, content }) => ({
        id: recipe,
        label: name,
        name,
        content: (
          <>
            {content(props)}
            <p>
              <a href={`/docs/recipes/${recipe}`}>The whole recipe for {name === 'bash' ? 'curl' : name}</a>
            </p>
          </>
        ),
      }))}
    />
  );
}

function Bash({ scopes, origin }: Props) {
  return (
    <>
      <p>Type this, then paste the key and press Enter. It is not shown, and does not stay in the history:</p>
      <Command>{`read -rs ${VARIABLE} && export ${VARIABLE}`}</Command>
      <p>Check that the key works:</p>
      <Command>{`curl ${origin}/api/v1/ping -H "Authorization: Bearer $${VARIABLE}"`}</Command>
      {writableKinds(scopes).map((kind) => {
        const { path, example } = RECORD_KINDS[kind];
        return (
          <>
            <p>{example.purpose} (replace TICKET with a ticket ID):</p>
            <Command>{`curl ${origin}/api/v1/tickets/TICKET/${path} -H "Authorization: Bearer $${VARIABLE}" \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: my-workflow:${path}-1' \\
  -d '${JSON.stringify(example.body)}'`}</Command>
          </>
        );
      })}
      <OnceOnly />
    </>
  );
}

function PowerShell({ scopes, origin }: Props) {
  return (
    <>
      <p>Type this, then paste the key and press Enter:</p>
      <Command>{`$env:${VARIABLE} = Read-Host 'Key'`}</Command>
      <p>Check that the key works:</p>
      <Command>{`Invoke-RestMethod ${origin}/api/v1/ping -Headers @{ Authorization = "Bearer $env:${VARIABLE}" }`}</Command>
      {writableKinds(scopes).map((kind) => {
        const { path, example } = RECORD_KINDS[kind];
        return (
          <>
            <p>{example.purpose} (replace TICKET with a ticket ID):</p>
            <Command>{`Invoke-RestMethod -Method Post ${origin}/api/v1/tickets/TICKET/${path} \`
  -Headers @{ Authorization = "Bearer $env:${VARIABLE}"; 'Idempotency-Key' = 'my-workflow:${path}-1' } \`
  -ContentType 'application/json' -Body '${JSON.stringify(example.body)}'`}</Command>
          </>
        );
      })}
      <OnceOnly />
    </>
  );
}

function OnceOnly() {
  return (
    <p class="minor">
      Build the Idempotency-Key from the name of your workflow and the ID of the event. A retry with the same
      Idempotency-Key never writes twice.
    </p>
  );
}

/** Steps that end with a ping. */
function Steps({ origin, check, children }: PropsWithChildren<{ origin: string; check: string }>) {
  return (
    <ol>
      {children}
      <li>
        Enter the address of ping:
        <Command>{`${origin}/api/v1/ping`}</Command>
        {check}
      </li>
    </ol>
  );
}

function Command({ children }: { children: string }) {
  return (
    // Focusable, so that the arrow keys can scroll a long line.
    <pre tabindex={0}>
      <code>{children}</code>
    </pre>
  );
}
