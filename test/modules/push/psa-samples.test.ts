import { expect, test } from 'vitest';
import * as z from 'zod';
import { FACTS } from '../../../src/domain/facts.ts';
import { alertData, messageType } from '../../../src/modules/alerts/alert.ts';
import firstUpsert from '../../../src/modules/psa/assets/docs/psa/samples/first-upsert.json';
import alert from '../../../src/modules/push/assets/docs/psa/samples/alert-key-expiring.json';
import revoked from '../../../src/modules/push/assets/docs/psa/samples/api-key-revoked.json';
import noteCreated from '../../../src/modules/push/assets/docs/psa/samples/note-created.json';
import noteRedacted from '../../../src/modules/push/assets/docs/psa/samples/note-redacted.json';
import approved from '../../../src/modules/push/assets/docs/psa/samples/time-entry-approved.json';
import entryCreated from '../../../src/modules/push/assets/docs/psa/samples/time-entry-created.json';
import { pushedPage } from '../../../src/modules/push/docs/push-webhook.ts';
import { makePsa } from '../psa/support.ts';

// The sample messages that /docs/psa offers.

/** Refuses every field that the published shape does not contain. */
const strictly = (shape: z.ZodType) =>
  z.fromJSONSchema(z.toJSONSchema(shape, { override: ({ jsonSchema }) => void withoutFormat(jsonSchema) }));

/** `fromJSONSchema` cannot read the format of a time. */
function withoutFormat(schema: z.core.JSONSchema.BaseSchema): void {
  delete schema.format;
}

test.each([
  ['note-created', noteCreated, 'note.created'],
  ['time-entry-created', entryCreated, 'time_entry.created'],
  ['time-entry-approved', approved, 'time_entry.approved'],
  ['note-redacted', noteRedacted, 'note.redacted'],
  ['api-key-revoked', revoked, 'api_key.revoked'],
])('%s.json is a page of changes that agrees with the contract', (_, sample, action) => {
  expect(strictly(pushedPage).safeParse(sample)).toMatchObject({ success: true });
  expect(strictly(pushedPage).safeParse({ ...sample, other: 1 }).success).toBe(false);
  expect(sample.data.changes.map((change) => change.action)).toEqual([action]);
  expect(sample.data.cursor).toBe(sample.data.changes[0]?.cursor);
});

test('alert-key-expiring.json agrees with the alert that the service sends', () => {
  const keyExpiresAt = Date.parse('2026-12-06T05:00:00Z');
  const id = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073';
  const fact = { organizationId: 'northwind', subject: id, level: 1, count: 0, lastAt: null, detail: null };
  const key = { keyId: id, keyName: 'n8n: triage', keyHint: 'twb_Ab12…x9Yz', keyExpiresAt };
  const since = Date.parse('2026-11-22T05:00:00Z');
  expect(alert).toEqual({
    type: messageType('key_expiring'),
    timestamp: '2026-11-22T03:17:00.000Z',
    data: {
      ...alertData({ type: 'key_expiring', kind: FACTS.key_expiring, ...fact, ...key, since }),
      settingsUrl: null,
    },
  });
});

test('first-upsert.json creates an organization with all kinds of records', async () => {
  const organization = `sample-${crypto.randomUUID()}`;
  const text = JSON.stringify(firstUpsert).replaceAll('"northwind"', JSON.stringify(organization));
  const response = await makePsa().post(JSON.parse(text));
  expect([response.status, await response.json()]).toEqual([
    200,
    expect.objectContaining({ ok: true, value: expect.objectContaining({ written: true }) }),
  ]);
});
