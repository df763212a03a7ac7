// Validates the Power Automate connector against the schema of OpenAPI 2.0, and calls each of its operations with a
// client of OpenAPI 2.0. run.ts passes the document, the address of the service, and the key.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import SwaggerParser from '@apidevtools/swagger-parser';
import SwaggerClient from 'swagger-client';

const { document, url, key } = JSON.parse(process.env['SWAGGER_SETTINGS']);

await SwaggerParser.validate(structuredClone(document));
await assert.rejects(SwaggerParser.validate({ ...structuredClone(document), paths: { '/ping': { get: {} } } }));

const { host, protocol } = new URL(url);
// The client resolves references in its copy.
const spec = structuredClone({ ...document, host, schemes: [protocol.replace(':', '')] });
// As a connection does that was made in the portal.
const { apis } = await new SwaggerClient({ spec, authorizations: { api_key: `Bearer ${key}` } });
const operations = Object.assign({}, ...Object.values(apis));

/** Calls an operation. Like a flow, it waits for the request limit and calls again. */
async function call(operation, input) {
  for (;;) {
    try {
      return await operations[operation](input);
    } catch (err) {
      if (err.status !== 429) throw err;
      await setTimeout(Number(err.response.headers['retry-after']) * 1_000);
    }
  }
}

const work = { minutes: 30, description: 'Cleared the print queue', billable: true };
const inputs = {
  Ping: {},
  CreateNote: { ticketId: '1001', 'Idempotency-Key': 'flow:note', body: { message: 'Written by a flow' } },
  DryRunNote: { ticketId: '1001', 'Idempotency-Key': 'flow:dry', body: { message: 'Checked by a flow' } },
  CreateTimeEntry: { ticketId: '1001', 'Idempotency-Key': 'flow:time', body: work },
  DryRunTimeEntry: { ticketId: '1001', 'Idempotency-Key': 'flow:dry', body: work },
};
const isWrite = (operation) => operation.startsWith('Create');
assert.deepEqual(Object.keys(operations).sort(), Object.keys(inputs).sort());
for (const [operation, input] of Object.entries(inputs)) {
  const first = await call(operation, input);
  assert.equal(first.status, isWrite(operation) ? 201 : 200, operation);
  const second = await call(operation, input);
  assert.equal(second.status, 200, operation);
  assert.equal(second.body.idempotentReplay, isWrite(operation) ? true : undefined, operation);
  // Every field of the response is described, so that the designer offers it.
  const { $ref } = Object.values(document.paths)
    .flatMap(Object.values)
    .find(({ operationId }) => operationId === operation).responses[200].schema;
  const described = Object.keys(document.definitions[$ref.split('/').at(-1)].properties);
  assert.deepEqual(
    Object.keys(second.body).filter((name) => !described.includes(name)),
    [],
  );
}
// The hidden preference makes another request with the same event id an error.
await assert.rejects(
  call('CreateNote', { ...inputs.CreateNote, body: { message: 'Another' } }),
  ({ status, response }) => status === 409 && response.body.code === 'idempotency_mismatch',
);
// The client itself refuses a request without an event id.
const { 'Idempotency-Key': _, ...withoutEvent } = inputs.CreateNote;
await assert.rejects(async () => operations.CreateNote(withoutEvent), /Required parameter Idempotency-Key/);
console.log(`Power Automate: ${Object.keys(inputs).join(', ')} called; each write repeated as a replay.`);
