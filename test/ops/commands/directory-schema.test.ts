import { expect, test } from 'vitest';
import { directoryJsonSchema } from '../../../src/ops/commands/directory-schema.ts';

test('the JSON Schema contains every type of record with its fields', () => {
  const schema = directoryJsonSchema();
  expect(schema['anyOf']).toMatchObject([
    {
      title: 'organization',
      required: ['type', 'id', 'name', 'psa', 'timeZone', 'defaultHourlyRate'],
      additionalProperties: false,
    },
    { title: 'company', required: ['type', 'organization', 'id', 'name'] },
    {
      title: 'user',
      required: ['type', 'organization', 'id', 'email', 'name'],
      properties: { name: { maxLength: 200 } },
    },
    { title: 'agreement', required: ['type', 'organization', 'id', 'company', 'hourlyRate'] },
    { title: 'ticket', required: ['type', 'organization', 'id', 'company'], properties: { active: { default: true } } },
  ]);
});
