import { env, exports } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyHint } from '../../src/domain/api-key.ts';
import type { DirectoryRecordInput } from '../../src/domain/directory.ts';
import { Tally } from '../support/hostile.ts';
import { runs } from '../support/property.ts';
import { keyIn, openSettings, signIn } from '../support/settings.ts';
import { makeApi } from '../support/world.ts';

// Organizations that are alike in all that may be alike: ids of users, companies, agreements and tickets, e-mail addresses, names of keys,
// Idempotency-Keys and form tokens. A mark in their names and texts, and their rates, tell whose something is. Then anybody does anything,
// with ids that are anybody's: after each step every organization but the one it was done in holds exactly what it held before, that one
// holds what the model says, and no answer shows anything of another.

const ORGANIZATIONS = 3;
const UNLIMITED = { quota: 10_000, windowMs: 1_000 };

// --- what may happen -------------------------------------------------------------------------------------------------------------

const which = fc.nat(ORGANIZATIONS - 1);
/** Who opens a page: the administrator of that organization, of the next one, or of the first two. */
const viewer = fc.constantFrom('own', 'own', 'own', 'next', 'both');
/** Whose key, record, ticket or user is meant: so many organizations further. */
const away = fc.constantFrom(0, 0, 1, 2);
/** Its place among those that there are. */
const index = fc.nat(20);

const KEY_PAGES = ['/keys/{key}', '/keys/{key}/change', '/keys/{key}/rotate', '/keys/{key}/revoke'] as const;
const FILTERS = [
  ...(['all', 'key', 'ticket', 'action', 'search for a key', 'search for a record', 'search for a request'] as const),
  'search for an Idempotency-Key' as const,
];

const event = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('write'),
      at: which,
      index,
      kind: fc.constantFrom('note', 'time_entry'),
      ticket: fc.constantFrom('1001', '1002', '1003', 'own'),
      user: fc.constantFrom(undefined, 'tess', 'tom', 'own'),
      away,
      idempotencyKey: fc.option(fc.constantFrom('a', 'b')),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('open'),
      viewer,
      at: which,
      page: fc.constantFrom('/keys', '/keys.csv', '/refused', '/revoke-all', ...KEY_PAGES),
      away,
      index,
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('log'),
      viewer,
      at: which,
      csv: fc.boolean(),
      filter: fc.constantFrom(...FILTERS),
      away,
      index,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('send'),
      viewer,
      at: which,
      form: fc.constantFrom(
        'create',
        'create',
        'change',
        'rotate',
        'rotate now',
        'revoke',
        'which value',
        'which hint',
      ),
      away,
      index,
      name: fc.constantFrom('Shared', 'Shared too', 'n8n'),
      token: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke all'), viewer, at: which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('changes'), at: which, away }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('review'),
      at: which,
      away,
      index,
      reviewer: fc.constantFrom('ada', 'both', 'tess'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('redact'),
      at: which,
      away,
      index,
      kind: fc.constantFrom('note', 'time_entry'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('directory'),
      at: which,
      type: fc.constantFrom('user', 'company', 'agreement', 'ticket'),
      to: fc.constantFrom('active', 'inactive', 'deactivated'),
    }),
  },
);
type Event = typeof event extends fc.Arbitrary<infer One> ? One : never;
type Viewer = Doing<'open'>['viewer'];
type Doing<What extends Event['do']> = Extract<Event, { do: What }>;

// --- the organizations -----------------------------------------------------------------------------------------------------------

const TABLES = [
  'users',
  'companies',
  'agreements',
  'tickets',
  'api_keys',
  'notes',
  'time_entries',
  'audit_log',
  'refused_uses',
] as const;
type Row = Record<string, string | number | null>;
type Contents = Record<(typeof TABLES)[number], Row[]>;

interface Twin {
  id: string;
  /** Stands in all of its names and texts, and in nothing of any other. */
  mark: string;
  email: string;
  keys: { id: string; value: string; hint: string }[];
}

async function makeTwin(world: string, number: number): Promise<Twin> {
  const organization = `org-${world}-${number}`;
  const mark = `mark-${world}-${number}-`;
  const email = `ada@${organization}.example`;
  const others: DirectoryRecordInput[] = [
    { type: 'user', organization, id: 'ada', email, name: `${mark} Ada`, admin: true },
    // Administers the first two organizations; in the others the same address is anybody's.
    { type: 'user', organization, id: 'both', email: `both@${world}.example`, name: `${mark} Both`, admin: number < 2 },
    { type: 'user', organization, id: 'tom', email: 'tom@shared.example', name: `${mark} Tom`, technician: true },
    {
      type: 'user',
      organization,
      id: `${mark}own`,
      email: `own@${organization}.example`,
      name: `${mark} Own`,
      technician: true,
    },
    {
      type: 'user',
      organization,
      id: `${mark}service`,
      email: 'automation@shared.example',
      name: `${mark} Automation`,
      service: true,
    },
    { type: 'company', organization, id: 'acme', name: `${mark} Acme` },
    { type: 'ticket', organization, id: '1001', company: 'acme' },
    // Everywhere but in the second organization.
    { type: 'ticket', organization, id: '1003', company: 'acme', active: number !== 1 },
    { type: 'ticket', organization, id: `${mark}own`, company: 'acme' },
  ];
  // Each of them is inactive in another organization to begin with.
  const changing = (['ticket', 'company', 'user', 'agreement'] as const).map((type, kind) =>
    changingRecord(type, { id: organization, mark }, kind % ORGANIZATIONS !== number),
  );
  await upsert(organization, [
    {
      type: 'organization',
      id: organization,
      name: organization,
      psa: true,
      timeZone: 'UTC',
      defaultHourlyRate: 200 + number,
    },
    ...others,
    ...changing,
  ]);
  return { id: organization, mark, email, keys: [] };
}

/** The records that the directory activates and deactivates: alike in all organizations but for names, rates and the id of Tess. */
function changingRecord(
  type: Doing<'directory'>['type'],
  { id: organization, mark }: Pick<Twin, 'id' | 'mark'>,
  active: boolean,
): DirectoryRecordInput {
  if (type === 'user')
    return {
      type,
      organization,
      id: `${mark}tess`,
      email: 'tess@shared.example',
      name: `${mark} Tess`,
      technician: true,
      active,
    };
  if (type === 'company') return { type, organization, id: 'globex', name: `${mark} Globex`, active };
  if (type === 'agreement')
    return { type, organization, id: 'support', company: 'acme', hourlyRate: agreedRate(organization), active };
  return { type: 'ticket', organization, id: '1002', company: 'globex', active };
}

const agreedRate = (organization: string) => 100 + Number(organization.at(-1));
const defaultRate = (organization: string) => 200 + Number(organization.at(-1));

async function upsert(organization: string, records: DirectoryRecordInput[]): Promise<void> {
  const answer = await exports.Directory.upsert(organization, records);
  if (!answer.ok || !answer.value.written) throw new Error(JSON.stringify(answer));
}

/** All rows of some organizations. */
async function contentsOf(twins: readonly Twin[]): Promise<Contents[]> {
  const ids = twins.map(({ id }) => id);
  const select = (table: string) => `select * from ${table} where organization_id in (${ids.map(() => '?').join()})`;
  const results = await env.DB.batch<Row>(TABLES.map((table) => env.DB.prepare(select(table)).bind(...ids)));
  return ids.map((id) => {
    const rows = (table: (typeof TABLES)[number]) =>
      (results[TABLES.indexOf(table)]?.results ?? []).filter((row) => row['organization_id'] === id);
    return {
      users: rows('users'),
      companies: rows('companies'),
      agreements: rows('agreements'),
      tickets: rows('tickets'),
      api_keys: rows('api_keys'),
      notes: rows('notes'),
      time_entries: rows('time_entries'),
      audit_log: rows('audit_log'),
      refused_uses: rows('refused_uses'),
    };
  });
}

/** An organization that nobody touches, with as many live keys as one may have: counted in with another's, they would leave no room. */
async function fill({ id }: Twin): Promise<void> {
  await env.DB.prepare(
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
     select ?1, 'key-' || value, 'key-' || value, 'Shared ' || value, lower(hex(randomblob(32))), 'twb_Full…Full', 'tickets:note:write', 0, 'ada' from json_each(?2)`,
  )
    .bind(id, JSON.stringify(Array.from({ length: 100 }, (_, number) => number)))
    .run();
}

// --- one world, and what is done in it -------------------------------------------------------------------------------------------

/** What a step did: in which organization, what was asked with, what was answered, and the rows that it added there. */
interface Done {
  outcome: string | number;
  asked?: string;
  answer?: string;
  added?: Partial<Record<keyof Contents, number>>;
  /** Tables that it may have changed; the others must hold what they held. */
  changed?: (keyof Contents)[];
}

const isLive = (key: Row) =>
  key['revoked_at'] === null && (key['expires_at'] === null || Number(key['expires_at']) > Date.now());
const isActive = (rows: Row[], id: Row[string] | undefined) =>
  rows.some((row) => row['id'] === id && row['active'] === 1);
const lines = (csv: string) => csv.split('\r\n').length - 2;

/** What the organization, if it were alone, would answer to a write, and which user and company a new time entry would have. */
function expectedWrite(
  own: Contents,
  asked: { keyId: string; kind: string; idempotencyKey: string | null; ticket: string; userEmail: string | undefined },
): { status: number; user?: Row[string] | undefined; company?: Row[string] | undefined } {
  const key = own.api_keys.find(({ id }) => id === asked.keyId);
  const scope = asked.kind === 'note' ? 'tickets:note:write' : 'tickets:time:write';
  if (!key || !isLive(key) || !String(key['scopes']).includes(scope)) return { status: 401 };
  const made = (entry: Row) =>
    entry['idempotency_key'] === asked.idempotencyKey && entry['action'] === `${asked.kind}.created`;
  if (asked.idempotencyKey !== null && own.audit_log.some(made)) return { status: 200 };
  const company = own.tickets.find(({ id, active }) => id === asked.ticket && active === 1)?.['company_id'];
  if (!isActive(own.companies, company)) return { status: 404 };
  const user = own.users.find((one) =>
    asked.userEmail === undefined
      ? one['is_service'] === 1
      : one['email'] === asked.userEmail && one['active'] === 1 && one['is_technician'] === 1,
  );
  return user ? { status: 201, user: user['id'], company } : { status: 422 };
}

/** What it would answer to its administrator who opens a page. */
function expectedPage(own: Contents, page: Doing<'open'>['page'], keyId: string): number {
  if (!page.includes('{key}')) return 200;
  const key = own.api_keys.find(({ id }) => id === keyId);
  if (!key) return 404;
  if (page.endsWith('/change')) return isLive(key) ? 200 : 409;
  if (page.endsWith('/rotate')) return isLive(key) && key['successor_id'] === null ? 200 : 409;
  if (page.endsWith('/revoke')) return key['revoked_at'] === null ? 200 : 303;
  return 200;
}

/** What it would answer to a form of its administrator's. */
function expectedForm(
  own: Contents,
  asked: { form: Doing<'send'>['form']; keyId: string; name: string; token: string },
): number {
  const { form, keyId, name, token } = asked;
  const key = own.api_keys.find(({ id }) => id === keyId);
  const isUsed = own.api_keys.some((one) => one['form_token'] === token);
  const isTaken = (except?: string) =>
    own.api_keys.some(
      (one) =>
        one['name'] === name && one['revoked_at'] === null && one['successor_id'] === null && one['id'] !== except,
    );
  if (form.startsWith('which')) return 200;
  if (form === 'create') return isUsed ? 409 : isTaken() ? 400 : 200;
  if (!key) return 404;
  if (form === 'revoke') return 303;
  if (!isLive(key)) return 409;
  if (form === 'change') return key['successor_id'] === null && isTaken(keyId) ? 400 : 303;
  return isUsed || key['successor_id'] !== null ? 409 : 200;
}

class World {
  readonly twins: Twin[] = [];
  private readonly api = makeApi({ config: { ipLimit: UNLIMITED, keyLimit: UNLIMITED, signIn: signIn.config } });
  private readonly pages = new Map<string, ReturnType<typeof openSettings>>();
  private readonly tokens = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
  private readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  async prepare(): Promise<void> {
    for (let number = 0; number <= ORGANIZATIONS; number++) this.twins.push(await makeTwin(this.name, number));
    await fill(this.twin(ORGANIZATIONS));
    // First among all: what is read of an organization without saying of which would be read of this one, which may not use the API.
    const closed = { id: '0', name: 'Closed', psa: false, timeZone: 'UTC', defaultHourlyRate: 1, active: false };
    await upsert(closed.id, [{ type: 'organization', ...closed }]);
    for (let at = 0; at < ORGANIZATIONS; at++) await this.begin(at);
  }

  /** Three keys, one of them revoked and used since, a note and a time entry. */
  private async begin(at: number): Promise<void> {
    const { mark } = this.twin(at);
    const pages = await this.pagesOf('own', at);
    const create = async (name: string, ...scope: string[]) => {
      const { text } = await pages.post('/keys', { token: crypto.randomUUID(), name, scope, expiration: 'none' });
      return this.keep(at, text);
    };
    const shared = await create('Shared', 'tickets:note:write', 'tickets:time:write');
    await create(`${mark} Notes`, 'tickets:note:write');
    const lost = await create(`${mark} Lost`, 'tickets:note:write');
    await pages.post(`/keys/${lost.id}/revoke`, {});
    await this.api.postNote(lost.value, { message: `${mark} text` });
    await this.api.postNote(shared.value, { message: `${mark} text` });
    await this.api.postTime(
      shared.value,
      { minutes: 1, description: `${mark} text`, billable: true },
      { 'Idempotency-Key': 'a' },
    );
    await this.settled();
  }

  settled = () => this.api.settled();

  twin(number: number): Twin {
    const twin = this.twins[number];
    if (!twin) throw new Error(`no organization ${number}`);
    return twin;
  }

  private owner({ at, away }: { at: number; away: number }): number {
    return (at + away) % ORGANIZATIONS;
  }

  private pagesOf(viewer: Viewer, at: number): ReturnType<typeof openSettings> {
    const email =
      viewer === 'both'
        ? `both@${this.name}.example`
        : this.twin(viewer === 'own' ? at : (at + 1) % ORGANIZATIONS).email;
    const pages = this.pages.get(`${viewer} ${at}`) ?? openSettings(this.api, this.twin(at).id, email);
    this.pages.set(`${viewer} ${at}`, pages);
    return pages;
  }

  /** Keeps the key that a page shows. */
  private async keep(at: number, page: string): Promise<Twin['keys'][number]> {
    const { id: organization, keys } = this.twin(at);
    const value = keyIn(page);
    const hint = keyHint(value);
    const row = await env.DB.prepare('select id from api_keys where organization_id = ? and hint = ?')
      .bind(organization, hint)
      .first<{ id: string }>();
    if (!row) throw new Error(`${organization} did not get the key ${hint}`);
    const key = { id: row.id, value, hint };
    keys.push(key);
    return key;
  }

  private key(of: number, index: number): Twin['keys'][number] {
    const { keys } = this.twin(of);
    const key = keys[index % keys.length];
    if (!key) throw new Error('no key');
    return key;
  }

  /** Does one thing. `before` is what all organizations held. */
  act(event: Event, before: readonly Contents[]): Promise<Done> {
    const own = before[event.at];
    if (!own) throw new Error('no such organization');
    switch (event.do) {
      case 'write':
        return this.write(event, own);
      case 'open':
        return this.open(event, own);
      case 'log':
        return this.log(event, own, before);
      case 'send':
        return this.send(event, own);
      case 'revoke all':
        return this.revokeAll(event, own);
      case 'changes':
        return this.changes(event, own);
      case 'review':
        return this.review(event, own, before);
      case 'redact':
        return this.redact(event, own, before);
      default:
        return this.directory(event);
    }
  }

  private async write(event: Doing<'write'>, own: Contents): Promise<Done> {
    const { at, kind, idempotencyKey } = event;
    const { id: organization, mark } = this.twin(at);
    const named = this.twin(this.owner(event));
    const key = this.key(at, event.index);
    const ticket = event.ticket === 'own' ? `${named.mark}own` : event.ticket;
    const userEmail =
      kind === 'note'
        ? undefined
        : event.user && (event.user === 'own' ? `own@${named.id}.example` : `${event.user}@shared.example`);
    const headers = idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey };
    const text = `${mark} text`;
    const response =
      kind === 'note'
        ? await this.api.postNote(key.value, { message: text }, headers, ticket)
        : await this.api.postTime(
            key.value,
            { minutes: 1, description: text, billable: true, userEmail },
            headers,
            ticket,
          );
    const { status } = response;
    const answer = await response.text();
    const asked = `${ticket} ${userEmail}`;

    const expected = expectedWrite(own, { keyId: key.id, kind, idempotencyKey, ticket, userEmail });
    expect([event, status]).toEqual([event, expected.status]);
    if (status !== 201) return { outcome: status, asked, answer, changed: ['refused_uses'] };
    if (kind === 'time_entry') {
      const agreed = expected.company === 'acme' && isActive(own.agreements, 'support');
      expect(JSON.parse(answer)).toMatchObject({
        entry: { userId: expected.user, hourlyRate: agreed ? agreedRate(organization) : defaultRate(organization) },
        agreementSource: agreed ? 'company_default' : 'organization_default',
      });
    }
    const table = kind === 'note' ? 'notes' : 'time_entries';
    return { outcome: status, asked, answer, added: { [table]: 1, audit_log: 1 }, changed: [table, 'audit_log'] };
  }

  /** Whether the viewer administers the organization. */
  private administers({ viewer, at }: { viewer: Viewer; at: number }): boolean {
    return viewer === 'both' ? at < 2 : viewer === 'own';
  }

  private async open(event: Doing<'open'>, own: Contents): Promise<Done> {
    const { viewer, at, page } = event;
    const key = this.key(this.owner(event), event.index);
    const path = page.includes('{key}') ? page.replace('{key}', key.id) : page;
    const { status, text } = await (await this.pagesOf(viewer, at)).get(path);
    const done = { outcome: `${page} ${status}`, asked: path, answer: text };
    const expected = this.administers(event) ? expectedPage(own, page, key.id) : 404;
    expect([event, status]).toEqual([event, expected]);
    if (status !== 200) return done;
    if (page === '/keys.csv') expect(lines(text)).toBe(own.api_keys.length);
    if (page === '/refused') expect(text.split('at least ').length - 1).toBe(own.refused_uses.length);
    if (page === '/revoke-all') expect(text).toContain(`(${own.api_keys.filter(isLive).length || 'none'} in use)`);
    return done;
  }

  private async log(event: Doing<'log'>, own: Contents, before: readonly Contents[]): Promise<Done> {
    const { viewer, at, filter, csv } = event;
    const all = before[this.owner(event)]?.audit_log ?? [];
    const entry = all[event.index % all.length] ?? {};
    const key = this.key(this.owner(event), event.index).id;
    const ticket = event.index % 2 ? '1001' : `${this.twin(this.owner(event)).mark}own`;
    const byTarget = (id: unknown) => (one: Row) => one['target_id'] === id;
    const filters: Record<typeof filter, [query: string, matches: (one: Row) => boolean]> = {
      all: ['', () => true],
      key: [
        `?key=${key}`,
        (one) => one['actor_id'] === key || (one['actor_type'] !== 'api_key' && one['target_id'] === key),
      ],
      ticket: [`?ticket=${ticket}`, (one) => one['ticket_id'] === ticket],
      action: ['?action=note.created', (one) => one['action'] === 'note.created'],
      'search for a key': [`?q=${key}`, byTarget(key)],
      'search for a record': [`?q=${entry['target_id']}`, byTarget(entry['target_id'])],
      'search for a request': [`?q=${entry['request_id']}`, (one) => one['request_id'] === entry['request_id']],
      'search for an Idempotency-Key': ['?q=a', (one) => one['idempotency_key'] === 'a'],
    };
    const [query, matches] = filters[filter];
    const path = `/audit${csv ? '.csv' : ''}${query}`;
    const { status, text } = await (await this.pagesOf(viewer, at)).get(path);
    const done = { outcome: `${filter} ${status}`, asked: path, answer: text };
    expect([event, status]).toEqual([event, this.administers(event) ? 200 : 404]);
    if (status !== 200) return done;
    const matching = own.audit_log.filter(matches).length;
    const shown = csv ? lines(text) : text.split('data-label="Action"').length - 1;
    expect([event, shown]).toEqual([event, csv ? matching : Math.min(50, matching)]);
    return done;
  }

  private async send(event: Doing<'send'>, own: Contents): Promise<Done> {
    const { viewer, at, form, name } = event;
    const pages = await this.pagesOf(viewer, at);
    const key = this.key(this.owner(event), event.index);
    const pasted = form === 'which value' ? key.value : key.hint;
    const token = this.tokens[event.token] ?? '';
    const shown = own.api_keys.find(({ id }) => id === key.id);
    const fields = {
      token,
      name,
      shown_name: String(shown?.['name']),
      shown_limit: shown?.['limit_quota'] ? `${shown['limit_quota']}/${Number(shown['limit_window_ms']) / 1_000}s` : '',
      scope: ['tickets:note:write', 'tickets:time:write'],
      expiration: 'none',
      grace: form === 'rotate now' ? 'now' : '1h',
      pasted,
    };
    const action = form === 'rotate now' ? 'rotate' : form;
    const path =
      action === 'create' ? '/keys' : action.startsWith('which') ? '/which-key' : `/keys/${key.id}/${action}`;
    const { status, text, location } = await pages.post(path, fields);
    expect([event, status]).toEqual([
      event,
      this.administers(event) ? expectedForm(own, { form, keyId: key.id, name, token }) : 404,
    ]);

    const done: Done = {
      outcome: `${form} ${status}`,
      asked: `${key.id} ${action.startsWith('which') ? pasted : ''}`,
      answer: text,
    };
    if (status >= 400) return done;
    if (action.startsWith('which')) {
      expect(text.includes(`/keys/${key.id}`)).toBe(own.api_keys.some(({ id }) => id === key.id));
      return done;
    }
    done.changed = ['api_keys', 'audit_log'];
    if (status === 303) return { ...done, added: { audit_log: location?.match(/done=(revoked|changed)$/) ? 1 : 0 } };
    await this.keep(at, text);
    return { ...done, added: { api_keys: 1, audit_log: form === 'create' ? 1 : form === 'rotate' ? 2 : 3 } };
  }

  private async revokeAll(event: Doing<'revoke all'>, own: Contents): Promise<Done> {
    const { viewer, at } = event;
    const { status, text } = await (await this.pagesOf(viewer, at)).post('/revoke-all', {});
    expect(status).toBe(this.administers(event) ? 303 : 404);
    const unrevoked = own.api_keys.filter((key) => key['revoked_at'] === null).length;
    const done = { outcome: status, answer: text };
    return status === 303 ? { ...done, added: { audit_log: unrevoked }, changed: ['api_keys', 'audit_log'] } : done;
  }

  private async changes(event: Doing<'changes'>, own: Contents): Promise<Done> {
    const { at } = event;
    const all = [];
    let cursor: string | null = null;
    for (let more = true; more; ) {
      const page: Awaited<ReturnType<typeof exports.Work.changes>> = await exports.Work.changes(
        this.twin(at).id,
        cursor,
      );
      if (!page.ok) throw new Error(page.error.detail);
      all.push(...page.value.changes);
      ({ cursor, more } = page.value);
    }
    expect(all.map(({ seq }) => seq)).toEqual(own.audit_log.map(({ seq }) => seq));
    expect(all.map(({ targetId }) => targetId)).toEqual(own.audit_log.map((row) => row['target_id']));
    // The place where another organization's changes end is none in this one's.
    const foreign = await exports.Work.changes(this.twin(this.owner(event)).id, cursor);
    expect(foreign).toMatchObject(
      event.away === 0 ? { ok: true, value: { changes: [] } } : { ok: false, error: { code: 'cursor_reset' } },
    );
    return { outcome: 'read', answer: JSON.stringify(all) };
  }

  private async review(event: Doing<'review'>, own: Contents, before: readonly Contents[]): Promise<Done> {
    const { at, index, reviewer } = event;
    const entries = before[this.owner(event)]?.time_entries ?? [];
    const entry = String(entries[index % entries.length]?.['id'] ?? crypto.randomUUID());
    const answer = await exports.Work.reviewTimeEntry(this.twin(at).id, entry, 'APPROVED', reviewer);
    const row = own.time_entries.find(({ id }) => id === entry);
    const eligible = own.users.some(({ id, is_admin }) => id === reviewer && is_admin === 1);
    const code = !row
      ? 'record_not_found'
      : row['status'] !== 'SUBMITTED'
        ? 'already_reviewed'
        : eligible
          ? undefined
          : 'reviewer_not_eligible';
    expect([event, answer.ok ? undefined : answer.error.code]).toEqual([event, code]);
    const done = { outcome: code ?? 'reviewed', asked: entry, answer: JSON.stringify(answer) };
    return code ? done : { ...done, added: { audit_log: 1 }, changed: ['time_entries', 'audit_log'] };
  }

  private async redact(event: Doing<'redact'>, own: Contents, before: readonly Contents[]): Promise<Done> {
    const { at, index, kind } = event;
    const table = kind === 'note' ? 'notes' : 'time_entries';
    const records = before[this.owner(event)]?.[table] ?? [];
    const record = String(records[index % records.length]?.['id'] ?? crypto.randomUUID());
    const answer = await exports.Work.redactRecord(this.twin(at).id, kind, record, 'the PSA');
    const row = own[table].find(({ id }) => id === record);
    const fresh = row !== undefined && row['request_digest'] !== '';
    expect(answer).toMatchObject(
      row
        ? { ok: true, value: { status: fresh ? 'redacted' : 'unchanged' } }
        : { ok: false, error: { code: 'record_not_found' } },
    );
    const done = { outcome: row ? 'redacted' : 'record_not_found', asked: record, answer: JSON.stringify(answer) };
    return fresh ? { ...done, added: { audit_log: 1 }, changed: [table, 'audit_log'] } : done;
  }

  private async directory({ at, type, to }: Doing<'directory'>): Promise<Done> {
    const twin = this.twin(at);
    const record = changingRecord(type, twin, to === 'active');
    if (to !== 'deactivated') await upsert(twin.id, [record]);
    else expect(await exports.Directory.deactivate(twin.id, [{ type, id: record.id }])).toMatchObject({ ok: true });
    const table = { user: 'users', company: 'companies', agreement: 'agreements', ticket: 'tickets' } as const;
    return { outcome: 'imported', changed: [table[type]] };
  }
}

/** What belongs to an organization alone and must never be shown to anybody else. */
function secretsOf({ mark, keys }: Twin, { notes, time_entries, audit_log }: Contents): string[] {
  const ids = [...notes, ...time_entries].map(({ id }) => String(id));
  const requests = audit_log.map((row) => String(row['request_id']));
  return [mark, ...keys.flatMap(({ id, value, hint }) => [id, value, hint]), ...ids, ...requests];
}

let worlds = 0;

test('whatever anybody does: nothing is written, shown, listed, exported or counted across organizations', async () => {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 30, maxLength: 40 }), async (events) => {
      const world = new World(`w${++worlds}`);
      await world.prepare();
      let before = await contentsOf(world.twins);

      for (const event of events) {
        const { outcome, asked = '', answer = '', added = {}, changed = [] } = await world.act(event, before);
        tally.add(`${event.do}: ${outcome}`);
        await world.settled();
        const after = await contentsOf(world.twins);
        for (const [number, twin] of world.twins.entries()) {
          const [was, is] = [before[number], after[number]];
          if (!was || !is) throw new Error('no contents');
          if (number !== event.at) {
            expect([event, is]).toEqual([event, was]);
            for (const secret of secretsOf(twin, was))
              if (!asked.includes(secret)) expect([event, answer.includes(secret) && secret]).toEqual([event, false]);
            continue;
          }
          for (const table of TABLES) {
            if (!changed.includes(table)) expect([event, table, is[table]]).toEqual([event, table, was[table]]);
            const grown = is[table].length - was[table].length;
            if (table !== 'refused_uses') expect([event, table, grown]).toEqual([event, table, added[table] ?? 0]);
          }
        }
        before = after;
      }
    }),
    { numRuns: runs('isolation against a model, in sequences of 30 to 40', 12), endOnFailure: true },
  );
  tally.print('isolation: what was done');
}, 600_000);
