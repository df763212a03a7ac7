import { expect, test } from 'vitest';
import { retryAfter503 } from '../../../src/http/problems.ts';
import firstUpsert from '../../../src/modules/psa/assets/docs/psa/samples/first-upsert.json';
import { CALL_ERROR_TEXTS } from '../../../src/modules/psa/docs/call-texts.ts';
import { describePsa } from '../../../src/modules/psa/docs/psa-openapi.ts';
import { PSA_CALL_TYPES } from '../../../src/modules/psa/psa-calls.ts';
import { CALL_ERRORS } from '../../../src/services/call-result.ts';
import { elementsOf } from '../../support/page.ts';
import { readStatic } from '../../support/static-files.ts';
import { makePsa } from './support.ts';

test('the page of calls links to each call, whose page lists its fields and those of its result, and the search finds it', async () => {
  const page = await (await readStatic('/docs/psa/calls')).text();
  const links = await elementsOf(page, 'article th a[href*="#"] code');
  expect(links.map(({ text }) => text).sort()).toEqual([...PSA_CALL_TYPES].sort());
  const index = new Map(await (await readStatic('/docs/search.json')).json<[string, string][]>());
  for (const { attributes } of await elementsOf(page, 'article th a[href*="#"]')) {
    const [path = '', type = ''] = (attributes['href'] ?? '').split('#');
    const source = await (await readStatic(`${path || '/docs/psa/calls'}.md`)).text();
    const call = source.split(/^## /m).find((part) => part.startsWith(`${type}\n`));
    expect([type, call]).toEqual([
      type,
      expect.stringMatching(/^\| `\w+` \| .*^\*\*Fields of `value`\*\*$.*^\| `\w+/ms),
    ]);
    expect(index.get(`${path || '/docs/psa/calls'}#${type}`)).toBe(type);
  }
});

test('the page of PSAs that work says of each adapter what its own page says, and links to what is not confirmed', async () => {
  const which = await (await readStatic('/docs/psa/which.md')).text();
  const rows = which.matchAll(/\| \[An adapter\]\((.+?)\) \| (.+?\.) \[Not confirmed\]\(\1#unconfirmed\) \|$/gm);
  const verified = new Map(Array.from(rows, ([, path = '', sentence = '']) => [path, sentence]));
  expect([...verified.keys()].sort()).toEqual(['/docs/psa/connectwise', '/docs/psa/halo', '/docs/psa/redmine']);
  for (const [path, sentence] of verified) {
    const own = await (await readStatic(`${path}.md`)).text();
    expect(own).toContain(`\n\n${sentence} `);
    expect(own).toContain('\n## What is not confirmed\n');
  }
});

test('the page explains every error of a call with its status', () => {
  expect(Object.fromEntries(CALL_ERROR_TEXTS.map(({ code, status }) => [code, status]))).toEqual(CALL_ERRORS);
});

test('the contract states between which numbers of seconds a 503 asks to wait', () => {
  const [least, most] = [retryAfter503(() => 0), retryAfter503(() => 1 - Number.EPSILON)];
  expect(JSON.stringify(describePsa('', []))).toContain(
    `a random number from ${least['Retry-After']} to ${most['Retry-After']}`,
  );
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
