// Finds the installed node as n8n does, and executes it in workflows with n8n-core. run.ts passes the node_modules of
// n8n, the address of the service, and the key.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import Module, { createRequire } from 'node:module';
import { join } from 'node:path';

// n8n lets its community nodes find n8n-workflow in the same way.
process.env['NODE_PATH'] = join(import.meta.dirname, 'node_modules');
Module._initPaths();
const require = createRequire(import.meta.url);
const { ExecutionLifecycleHooks, scanDirectoryForPackages, WorkflowExecute } = require('n8n-core');
const { createRunExecutionData, ICredentialsHelper, NodeHelpers, Workflow } = require('n8n-workflow');

const { directory, url, key } = JSON.parse(process.env['NODE_SETTINGS']);

const [loader] = await scanDirectoryForPackages(directory);
await loader.loadAll();
const { type: node } = loader.nodeTypes['ticketWriteBack'];
const { type: credential } = loader.credentialTypes['ticketWriteBackApi'];
/** Gives the items of a test to the node. */
const start = { description: { name: 'start', inputs: [], outputs: ['main'], properties: [] } };
const TYPES = { 'n8n-nodes-base.manualTrigger': start, 'n8n-nodes-ticket-write-back.ticketWriteBack': node };
const nodeTypes = {
  getByName: (name) => TYPES[name],
  getByNameAndVersion: (name) => TYPES[name],
  getKnownTypes: () => ({}),
};

/** What n8n's expressions give for the texts of the credential. */
function withCredential(workflow, value, $credentials) {
  return workflow.expression.getComplexParameterValue(
    workflow.getNode('Write'),
    value,
    'internal',
    { $credentials },
    undefined,
    undefined,
    { $credentials },
  );
}

class Credentials extends ICredentialsHelper {
  constructor(values) {
    super();
    this.values = values;
  }
  getParentTypes = () => [];
  isCredentialUsableByNode = () => true;
  getDecrypted = async () => this.values;
  preAuthentication = async () => undefined;
  runPreAuthentication = async () => undefined;
  getCredentialsProperties = () => credential.properties;
  authenticate = async (values, _type, request, workflow) => {
    const { headers } = withCredential(workflow, credential.authenticate.properties, values);
    return { ...request, headers: { ...request.headers, ...headers } };
  };
}

function workflowOf(parameters, settings) {
  const { properties } = node.description;
  const write = {
    id: '2',
    name: 'Write',
    type: 'n8n-nodes-ticket-write-back.ticketWriteBack',
    typeVersion: 1,
    position: [0, 0],
    parameters: NodeHelpers.getNodeParameters(
      properties,
      parameters,
      true,
      false,
      { typeVersion: 1 },
      node.description,
    ),
    credentials: { ticketWriteBackApi: { id: '1', name: 'Tickets' } },
    ...settings,
  };
  return new Workflow({
    id: 'workflow-1',
    name: 'Test',
    active: false,
    nodeTypes,
    settings: { executionOrder: 'v1' },
    nodes: [
      {
        id: '1',
        name: 'Start',
        type: 'n8n-nodes-base.manualTrigger',
        typeVersion: 1,
        position: [0, 0],
        parameters: {},
      },
      write,
    ],
    connections: { Start: { main: [[{ node: 'Write', type: 'main', index: 0 }]] } },
  });
}

/** Executes the node for items: its outputs, or its error. */
async function execute(items, parameters, settings = {}, values = { url, apiKey: key }) {
  start.execute = async () => [items.map((json) => ({ json }))];
  const workflow = workflowOf(parameters, settings);
  const hooks = new ExecutionLifecycleHooks('manual', '1', {});
  const additionalData = {
    credentialsHelper: new Credentials(values),
    hooks,
    executionId: '1',
    currentNodeExecutionIndex: 0,
    variables: {},
    formWaitingBaseUrl: 'http://n8n.invalid/form',
    webhookWaitingBaseUrl: 'http://n8n.invalid/webhook',
  };
  const execution = new WorkflowExecute(additionalData, 'manual', createRunExecutionData());
  const { data } = await execution.run({ workflow });
  const [run] = data.resultData.runData['Write'] ?? [];
  return { outputs: run?.data?.main ?? [], error: run?.error ?? data.resultData.error };
}

const NOTE = {
  resource: 'note',
  operation: 'create',
  ticketId: '={{ $json.ticketId }}',
  eventId: '={{ $json.eventId }}',
  message: '={{ $json.message }}',
};
const TIME = {
  resource: 'timeEntry',
  operation: 'create',
  ticketId: '={{ $json.ticketId }}',
  eventId: '={{ $json.eventId }}',
  minutes: '={{ $json.minutes }}',
  description: 'Cleared it',
  billable: true,
};
/** Both packages are executed against one service. */
const SOURCE = process.argv[2].startsWith('.') ? 'built' : 'served';
const note = (eventId, changes = {}) => ({
  ticketId: '1001',
  eventId: eventId && `${SOURCE}-${eventId}`,
  message: 'He said "done",\nand left 🖨️',
  ...changes,
});
const recordsOf = ({ outputs: [items = []], error }) => {
  assert.equal(error, undefined, error?.message);
  return items.map(({ json }) => json);
};

const tests = {
  'writes each item once, with its source': async () => {
    const items = [note('n8n-1'), note('n8n-2')];
    const {
      outputs: [first],
      error,
    } = await execute(items, NOTE);
    assert.equal(error, undefined, error?.message);
    assert.deepEqual(
      first.map(({ pairedItem }) => pairedItem),
      [{ item: 0 }, { item: 1 }],
    );
    const again = recordsOf(await execute(items, NOTE));
    assert.deepEqual(
      again.map((json) => [json.note.id, json.idempotentReplay]),
      first.map(({ json }) => [json.note.id, true]),
    );
    assert.equal(new Set(again.map((json) => json.note.id)).size, 2);
  },
  'logs time, with a technician and without': async () => {
    const [automation] = recordsOf(await execute([{ ...note('n8n-time-1'), minutes: 30 }], TIME));
    assert.deepEqual([automation.entry.minutes, automation.entry.userId], [30, 'automation']);
    const [tess] = recordsOf(
      await execute([{ ...note('n8n-time-2'), minutes: 5 }], { ...TIME, userEmail: 'tess@northwind.example' }),
    );
    assert.equal(tess.entry.userId, 'tess');
  },
  'refuses an event id that is empty or a placeholder': async () => {
    for (const eventId of ['', undefined, ':2', 'undefined-note', '$EVENT_ID', '{event_id}', '%s', '<event-id>']) {
      const { error } = await execute([note(eventId)], NOTE);
      assert.match(
        `${error.message} ${error.description}`,
        /event id in it is empty or a placeholder.*invalid_idempotency_key/,
      );
    }
  },
  'fails if another event used the event id, unless the workflow accepts it': async () => {
    recordsOf(await execute([note('n8n-3')], NOTE));
    const other = [note('n8n-3', { message: 'Another' })];
    assert.match((await execute(other, NOTE)).error.message, /A different request used this Idempotency-Key before/);
    const [accepted] = recordsOf(await execute(other, { ...NOTE, options: { acceptMismatch: true } }));
    assert.equal(accepted.idempotencyMismatch, true);
    const [separate] = recordsOf(await execute(other, { ...NOTE, options: { workflow: 'closing' } }));
    assert.equal(separate.idempotentReplay, undefined);
  },
  'checks an item in a dry run, and writes nothing': async () => {
    const dry = { ...NOTE, options: { dryRun: true } };
    const [checked] = recordsOf(await execute([note('n8n-dry')], dry));
    assert.deepEqual(checked, { dryRun: true, ticketId: '1001' });
    assert.match((await execute([note('n8n-dry', { ticketId: '9' })], dry)).error.message, /ticket/);
    const [written] = recordsOf(await execute([note('n8n-dry')], NOTE));
    assert.equal(written.idempotentReplay, undefined);
  },
  'continues with the other items if an item fails': async () => {
    const items = [note('n8n-4', { ticketId: '9' }), note('n8n-5')];
    const {
      outputs: [regular],
    } = await execute(items, NOTE, { onError: 'continueRegularOutput' });
    assert.match(regular[0].json.error, /ticket/);
    assert.deepEqual(regular[0].pairedItem, { item: 0 });
    assert.ok(regular[1].json.note.id);
    const {
      outputs: [success, errors],
    } = await execute(items, NOTE, { onError: 'continueErrorOutput' });
    assert.deepEqual([success.length, errors.length], [1, 1]);
  },
  'explains a wrong key, and a value of the wrong type': async () => {
    const wrong = await execute([note('n8n-6')], NOTE, {}, { url, apiKey: `${key.slice(0, -6)}000000` });
    assert.match(wrong.error.message, /The key is not accepted: for example it is mistyped/);
    const text = await execute([{ ...note('n8n-7'), minutes: 'half an hour' }], TIME);
    assert.match(`${text.error.message} ${text.error.description}`, /minutes/);
  },
  'waits for the request limit': async () => {
    const items = Array.from({ length: 25 }, (_, n) => note(`n8n-many-${n}`));
    const started = Date.now();
    assert.equal(new Set(recordsOf(await execute(items, NOTE)).map((json) => json.note.id)).size, 25);
    // With 10 requests in 2 seconds, the last one can pass after 4 seconds.
    assert.ok(Date.now() - started > 3_000);
  },
  'waits until the date in Retry-After, as a gateway may send it': async () => {
    const times = [];
    const gateway = createServer((_, response) => {
      times.push(Date.now());
      const date = new Date(times[0] + 5_000).toUTCString();
      if (times.length === 1) response.writeHead(429, { 'Retry-After': date }).end();
      else response.writeHead(201, { 'Content-Type': 'application/json' }).end('{"note":{"id":"1"}}');
    });
    await once(gateway.listen(0, '127.0.0.1'), 'listening');
    const address = `http://127.0.0.1:${gateway.address().port}`;
    recordsOf(await execute([note('n8n-date')], NOTE, {}, { url: address, apiKey: key }));
    gateway.close();
    // A date has whole seconds.
    assert.ok(times.length === 2 && times[1] - times[0] > 3_900);
  },
  'tests the credential with a ping': async () => {
    const workflow = workflowOf(NOTE, {});
    const values = { url: `${url}/`, apiKey: ` ${key}\n` };
    const { request } = withCredential(workflow, credential.test, values);
    const { headers } = await new Credentials(values).authenticate(values, '', { headers: {} }, workflow);
    const response = await fetch(request.baseURL + request.url, { headers });
    assert.equal((await response.json()).ok, true);
  },
  'is a tool for AI agents': async () => {
    assert.equal(node.description.usableAsTool, true);
  },
};
for (const [name, run] of Object.entries(tests)) {
  await run().catch((err) => {
    throw new Error(`The node ${name}`, { cause: err });
  });
}
console.log(`n8n node, ${SOURCE}: ${Object.keys(tests).join('; ')}.`);
process.exit(0);
