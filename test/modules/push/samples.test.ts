import { expect, test } from 'vitest';
import * as z from 'zod';
import revoked from '../../../src/modules/push/assets/docs/psa/samples/api-key-revoked.json';
import noteCreated from '../../../src/modules/push/assets/docs/psa/samples/note-created.json';
import noteRedacted from '../../../src/modules/push/assets/docs/psa/samples/note-redacted.json';
import approved from '../../../src/modules/push/assets/docs/psa/samples/time-entry-approved.json';
import entryCreated from '../../../src/modules/push/assets/docs/psa/samples/time-entry-created.json';
import { pushedPage } from '../../../src/modules/push/docs/push-webhook.ts';

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
