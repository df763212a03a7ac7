import { expect, test } from 'vitest';
import firstUpsert from '../../../src/modules/psa/assets/docs/psa/samples/first-upsert.json';
import { CALL_ERROR_TEXTS } from '../../../src/modules/psa/docs/call-texts.ts';
import { PSA_CALL_TYPES } from '../../../src/modules/psa/psa-calls.ts';
import { CALL_ERRORS } from '../../../src/services/call-result.ts';
import { elementsOf } from '../../support/page.ts';
import { readStatic } from '../../support/static-files.ts';
import { makePsa } from './support.ts';

test('the page of the PSA calls lists the fields of each call and of its result', async () => {
  const page = await (await readStatic('/docs/psa/calls')).text();
  const headings = await elementsOf(page, 'article h3[id*="."]');
  expect(headings.map(({ attributes }) => attributes['id'])).toEqual(PSA_CALL_TYPES);
  const calls = (await (await readStatic('/docs/psa/calls.md')).text()).split(/^### /m).slice(1);
  for (const call of calls) expect(call).toMatch(/^\| `\w+` \| .*^\*\*Fields of `value`\*\*$.*^\| `\w+/ms);
  const links = (await elementsOf(page, '.side ul ul a')).map(({ attributes }) => attributes['href']);
  for (const { attributes } of await elementsOf(page, 'article > h2')) expect(links).toContain(`#${attributes['id']}`);
});

test('the search finds each call', async () => {
  const index = new Map(await (await readStatic('/docs/search.json')).json<[string, string][]>());
  for (const type of PSA_CALL_TYPES) expect(index.get(`/docs/psa/calls#${type}`)).toBe(type);
});

test('the page explains every error of a call with its status', () => {
  expect(Object.fromEntries(CALL_ERROR_TEXTS.map(({ code, status }) => [code, status]))).toEqual(CALL_ERRORS);
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
