import fc from 'fast-check';

/** How many organizations take part. */
export const ORGANIZATIONS = 3;

/** The organization that an event happens in. */
const organization = fc.nat(ORGANIZATIONS - 1);
/**
 * Who opens a page: the administrator of that organization, of the next one, or of the first two.
 */
const viewer = fc.constantFrom('own', 'own', 'own', 'next', 'both');
/**
 * Whose key, record, ticket or user the event names: that of the organization this many places
 * further on.
 */
const away = fc.constantFrom(0, 0, 1, 2);
/** Which of the existing keys or records the event names. */
const index = fc.nat(20);

const ORGANIZATION_PAGES = [
  '/keys',
  '/keys?state=all',
  '/keys.csv',
  '/refused',
  '/refused.csv',
  '/refused-requests.csv',
  '/revoke-all',
  '/key-rules',
  '/time',
] as const;
const KEY_PAGES = ['/keys/{key}', '/keys/{key}/change', '/keys/{key}/rotate', '/keys/{key}/revoke'] as const;

const write = fc.record({
  do: fc.constant('write'),
  at: organization,
  index,
  kind: fc.constantFrom('note', 'time_entry'),
  ticket: fc.constantFrom('1001', '1002', '1003', 'own'),
  user: fc.constantFrom(undefined, 'tess', 'tom', 'own'),
  away,
  idempotencyKey: fc.option(fc.constantFrom('a', 'b')),
  /** A tool needs an Idempotency-Key: without one, the write goes to the REST interface. */
  through: fc.constantFrom('REST', 'MCP'),
});

const open = fc.record({
  do: fc.constant('open'),
  viewer,
  at: organization,
  page: fc.constantFrom(...ORGANIZATION_PAGES, ...KEY_PAGES),
  away,
  index,
});

const log = fc.record({
  do: fc.constant('log'),
  viewer,
  at: organization,
  csv: fc.boolean(),
  filter: fc.constantFrom(
    ...(['all', 'key', 'ticket', 'action', 'search for a key', 'search for a record', 'search for a request'] as const),
    'search for an Idempotency-Key' as const,
  ),
  away,
  index,
});

const send = fc.record({
  do: fc.constant('send'),
  viewer,
  at: organization,
  form: fc.constantFrom('create', 'create', 'change', 'rotate', 'rotate now', 'revoke', 'which value', 'which hint'),
  away,
  index,
  name: fc.constantFrom('Shared', 'Shared too', 'n8n'),
  token: fc.nat(2),
  /** The companies of a new or changed key: all, one, or that of the organization that the event names. */
  companies: fc.constantFrom('*', '*', 'acme', 'globex', 'own'),
});

const revokeAll = fc.record({ do: fc.constant('revoke all'), viewer, at: organization });
const changes = fc.record({ do: fc.constant('changes'), at: organization, away });

const review = fc.record({
  do: fc.constant('review'),
  at: organization,
  away,
  index,
  reviewer: fc.constantFrom('ada', 'both', 'tess'),
});

const redact = fc.record({
  do: fc.constant('redact'),
  at: organization,
  away,
  index,
  kind: fc.constantFrom('note', 'time_entry'),
});

const directory = fc.record({
  do: fc.constant('directory'),
  at: organization,
  type: fc.constantFrom('user', 'company', 'agreement', 'ticket'),
  /** A ticket moves between acme and globex. */
  to: fc.constantFrom('active', 'inactive', 'deactivated', 'moved'),
});

/** Anything that may happen in one of the organizations, by how often it does. */
export const EVENTS = [
  { weight: 7, arbitrary: write },
  { weight: 7, arbitrary: open },
  { weight: 7, arbitrary: log },
  { weight: 6, arbitrary: send },
  { weight: 1, arbitrary: revokeAll },
  { weight: 3, arbitrary: changes },
  { weight: 2, arbitrary: review },
  { weight: 2, arbitrary: redact },
  { weight: 2, arbitrary: directory },
] as const;
export const event = fc.oneof(...EVENTS);

export type Event = typeof event extends fc.Arbitrary<infer One> ? One : never;
/** The events of one type. */
export type EventOf<Type extends Event['do']> = Extract<Event, { do: Type }>;
export type Viewer = EventOf<'open'>['viewer'];
