import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Field, fieldsOf, shownSchema, variantsOf, withoutReferences } from '../../src/docs/field-rules.ts';
import { fieldTable } from '../../src/docs/field-tables.ts';
import errors from '../../src/docs/pages/errors.md?raw';
import page from '../../src/docs/pages/reference.md?raw';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../src/domain/record-kinds.ts';
import { retryAfter503 } from '../../src/http/problems.ts';
import { API } from '../support/api-document.ts';
import { readContract } from '../support/contract.ts';

const content = z.record(
  z.string(),
  z.object({ schema: shownSchema, examples: z.record(z.string(), z.unknown()).default({}) }),
);
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean().default(false), schema: shownSchema }))
    .default([]),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ headers: z.record(z.string(), z.unknown()).default({}), content })),
});
const { paths } = z
  .object({ paths: z.record(z.string(), z.partialRecord(z.enum(['get', 'post']), operation)) })
  .parse(withoutReferences(API));
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ ...one, path, name: `${method.toUpperCase()} ${path}` })),
);
const contract = readContract(JSON.stringify(API));

/** The text of each section by its id. */
const sections = new Map(page.split(/^## /m).map((part) => [/^.+ <!-- #(\w+) -->\n/.exec(part)?.[1] ?? '', part]));
const sectionOf = (id: string) => sections.get(id) ?? expect.unreachable(`The page has no section ${id}`);

/** The rows of the table whose first cell of the head is this one. */
function rowsOf(section: string, head: string): string[] {
  const [, rows] =
    new RegExp(`^\\| ${head} \\|.*\\n\\|[-|]+\\|\\n((?:\\|.*\\n?)+)`, 'm').exec(sectionOf(section)) ?? [];
  return rows?.trim().split('\n') ?? expect.unreachable(`The section ${section} has no table ${head}`);
}

/** A row about a field, up to the end of its rules. */
const withRules = (row: string) => /^\| `[^|]+` \| [^.]+\./.exec(row)?.[0];

const rulesOfFields = (...args: Parameters<typeof fieldTable>) =>
  fieldTable(...args)
    .split('\n')
    .slice(2)
    .map(withRules);

/** Expects a table with exactly these fields, in this order, with their rules. */
function expectFields(section: string, head: string, fields: readonly Field[], isResponse = false) {
  expect(rowsOf(section, head).map(withRules)).toEqual(rulesOfFields(fields, isResponse));
}

const find = (id: string) => operations.find(({ operationId }) => operationId === id) ?? expect.unreachable(id);
const requestFields = (id: string) =>
  fieldsOf(find(id).requestBody?.content['application/json']?.schema ?? expect.unreachable(id));
const responseFields = (id: string, status: number) =>
  fieldsOf(find(id).responses[status]?.content['application/json']?.schema ?? expect.unreachable(id));
const isOfReplay = ({ name }: Field) => /^(idempotent|idempotency|ticketId)/.test(name);

test('the table at the top has the summary, address and scope of each operation', () => {
  const rows = Array.from(
    page.matchAll(/^\| \[(.+)\]\(#(\w+)\) \| (\w+) `\/api\/v1(.+)` \| `?([\w:]+)`? \|$/gm),
    ([, summary, id = '', method, path, scope]) => ({ summary, id, name: `${method} ${path}`, scope }),
  );
  expect(rows.map(({ id }) => sections.has(id))).toEqual(rows.map(() => true));
  const kindOf = (path: string) => RECORD_KIND_NAMES.find((kind) => path.includes(`/${RECORD_KINDS[kind].path}`));
  const expected = operations.map(({ summary, name, path }) => {
    const kind = kindOf(path);
    return { summary, name, scope: kind ? RECORD_KINDS[kind].scope : 'none' };
  });
  const sorted = (list: readonly { summary?: string | undefined; name: string; scope?: string | undefined }[]) =>
    list.map(({ summary, name, scope }) => `${name} ${scope} ${summary}`).sort();
  expect(sorted(rows)).toEqual(sorted(expected));
});

describe('the page has exactly the fields of the contract with their rules', () => {
  test('of the address and headers of each write and dry run', () => {
    const writes = operations.filter(({ operationId }) => operationId !== 'ping');
    expect(writes).toHaveLength(2 * RECORD_KIND_NAMES.length);
    // A row about a parameter begins with its place.
    const shown = rowsOf('write', 'Field').map((row) =>
      row.replace(/ (Path|Header), (\w)/, (_, __, first) => ` ${first.toUpperCase()}`),
    );
    const places = rowsOf('write', 'Field').map((row) => / (Path|Header), /.exec(row)?.[1]?.toLowerCase());
    for (const { parameters } of writes) {
      const fields = parameters.map((one) => ({ ...one, isRequired: one.required, kinds: [] }));
      expect(shown.map(withRules)).toEqual(rulesOfFields(fields));
      expect(places).toEqual(parameters.map((one) => one.in));
    }
    expect(find('ping').parameters).toEqual([]);
  });

  test.each(['Note', 'TimeEntry'])('of the bodies of create%s and its dry run', (kind) => {
    expectFields(`create${kind}`, 'Field of the request', requestFields(`create${kind}`));
    expect(requestFields(`dryRun${kind}`)).toEqual(requestFields(`create${kind}`));
  });

  test('of the responses', () => {
    expectFields('ping', 'Field of the response', responseFields('ping', 200), true);
    for (const id of ['createNote', 'createTimeEntry']) {
      const fields = responseFields(id, 201);
      expect(responseFields(id, 200)).toEqual(fields);
      expectFields(
        id,
        'Field of the response',
        fields.filter((one) => !isOfReplay(one)),
        true,
      );
      expectFields('replay', 'Field of the response', fields.filter(isOfReplay), true);
    }
    for (const id of ['dryRunNote', 'dryRunTimeEntry'])
      expectFields('dryRun', 'Field of the response', responseFields(id, 200), true);
  });

  test('of an error', () => {
    const shapes = operations
      .flatMap(({ responses }) => Object.values(responses))
      .flatMap(({ content }) => variantsOf(content['application/problem+json']?.schema))
      .filter(({ required }) => required.includes('code'));
    const byName = new Map(shapes.flatMap((shape) => fieldsOf(shape)).map((field) => [field.name, field]));
    // Without the values that differ between the codes.
    const fields = Array.from(byName.values(), ({ name, isRequired, kinds, schema: { type, format } }) => ({
      name,
      isRequired: isRequired && (name.includes('.') || shapes.every(({ required }) => required.includes(name))),
      schema: { type, format, required: [] },
      kinds,
    }));
    expectFields('errors', 'Field of an error', fields, true);
  });

  test('of the headers of responses', () => {
    const named = rowsOf('headers', 'Header').map((row) => /^\| `([\w-]+)` \|/.exec(row)?.[1]);
    const documented = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ headers }) => Object.keys(headers)),
    );
    expect([...named].sort()).toEqual([...new Set(documented)].sort());
  });
});

test('the pages state between which numbers of seconds a 503 asks to wait', () => {
  const [least, most] = [retryAfter503(() => 0), retryAfter503(() => 1 - Number.EPSILON)];
  for (const text of [page, errors])
    expect(text).toContain(`a random number from ${least['Retry-After']} to ${most['Retry-After']}`);
});

test('the table of errors has each code of each operation with its status, linked to its explanation', () => {
  const isWrite = (id: string) => id.startsWith('create');
  const GROUPS: Readonly<Record<string, (id: string) => boolean>> = {
    All: () => true,
    Writes: isWrite,
    'Writes and dry runs': (id) => id !== 'ping',
    'Time entries and their dry runs': (id) => id.endsWith('TimeEntry'),
  };
  const shown = rowsOf('errors', 'Operations').flatMap((row) => {
    const [, group = '', list = ''] = /^\| (.+) \| (.+) \|$/.exec(row) ?? [];
    const links = Array.from(
      list.matchAll(/\[(\d+)(?: `(\w+)`)?\]\(errors\.md#(\w+)\)/g),
      ([, status, code = 'unauthorized', target]) => ({ status, code, target }),
    );
    expect(links.map(({ code }) => code)).toEqual(links.map(({ target }) => target));
    return operations
      .filter(({ operationId }) => GROUPS[group]?.(operationId) ?? expect.unreachable(group))
      .flatMap(({ operationId }) => links.map(({ status, code }) => `${operationId} ${status} ${code}`));
  });
  const documented = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      Object.keys(content['application/problem+json']?.examples ?? {}).map(
        (code) => `${operationId} ${status} ${code}`,
      ),
    ),
  );
  expect(shown.sort()).toEqual(documented.sort());
});

describe('each example is valid', () => {
  const OPERATIONS: Readonly<Record<string, string>> = {
    ping: 'GET /ping',
    'a note': 'POST /tickets/{ticketId}/notes',
    'a time entry': 'POST /tickets/{ticketId}/time-entries',
    'a dry run': 'POST /tickets/{ticketId}/time-entries/dry-run',
  };
  const examples = Array.from(
    page.matchAll(/^```\w+ (Request|Response (\d+)): ([\w ]+)\n(.+?)\n```$/gms),
    ([, , status, about = '', text = '']) => ({ status, about, name: OPERATIONS[about] ?? '', text }),
  );
  const requests = examples.filter(({ status }) => status === undefined);
  const responses = examples.filter(({ status }) => status !== undefined);

  test('no example is left out', () => {
    expect(examples).toHaveLength(page.match(/^```\w/gm)?.length ?? 0);
    expect(requests.map(({ about }) => about)).toEqual(Object.keys(OPERATIONS));
    expect(responses.map(({ about, status }) => `${about} ${status}`).sort()).toEqual(
      ['ping 200', 'a note 201', 'a note 200', 'a time entry 201', 'a dry run 200'].sort(),
    );
  });

  test.each(requests)('the request: $about', ({ name, text }) => {
    const [, path = ''] = /service\.invalid\/api\/v1(\/[^'"]+)['"]/.exec(text) ?? [];
    const [, body] = /-d '(.+)'/.exec(text) ?? [];
    expect(`${body === undefined ? 'GET' : 'POST'} ${path.replace('$TICKET_ID', '{ticketId}')}`).toBe(name);
    if (body !== undefined) expect(contract.differencesOf(name, 'request', JSON.parse(body))).toEqual([]);
    const headers = Array.from(text.matchAll(/-H ['"]([\w-]+):/g), ([, header]) => header);
    const documented = operations.find((one) => one.name === name)?.parameters.map((one) => one.name) ?? [];
    const known = ['Authorization', ...(body === undefined ? [] : ['Content-Type', ...documented])];
    expect(known).toEqual(expect.arrayContaining(headers));
  });

  test.each(responses)('the response $status: $about', ({ name, status, text }) => {
    expect(contract.differencesOf(name, Number(status), JSON.parse(text))).toEqual([]);
  });
});
