import { env } from 'cloudflare:workers';
import { keyHint } from '../../../src/domain/api-key.ts';
import { withReplica } from '../../support/d1.ts';
import { ledgerInconsistencies } from '../../support/ledger.ts';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { allChanges, directory, lastCursor, work } from '../../support/psa-calls.ts';
import { keyIn, openSettings, signIn } from '../../support/settings.ts';
import { callTool, type ToolResult } from '../../support/tools.ts';
import { makeApi, UNLIMITED } from '../../support/world.ts';
import { type Event, type EventOf, ORGANIZATIONS, type Viewer } from './events.ts';
import {
  admits,
  createdByForm,
  expectedForm,
  expectedPage,
  expectedRedaction,
  expectedReview,
  expectedWrite,
  hiddenRecords,
  isActive,
  isLive,
} from './model.ts';
import {
  addBystanders,
  agreedRate,
  type Contents,
  changingRecord,
  contentsOf,
  defaultRate,
  type Key,
  makeOrganization,
  type Organization,
  privateTexts,
  type Row,
  TABLES,
  type Table,
  upsert,
} from './organizations.ts';
import { check } from './rules.ts';

/** The status that the REST interface has for the result of a tool. */
function statusOfTool({ isError, structuredContent }: ToolResult): number {
  const { code, idempotentReplay } = structuredContent;
  if (idempotentReplay === true) return 200;
  if (!isError) return 201;
  if (code === 'idempotency_mismatch') return 409;
  return code === 'ticket_not_found' ? 404 : code === 'technician_not_eligible' ? 422 : 500;
}

/** Where refusals are recorded. */
const REFUSAL_TABLES = ['refused_uses', 'refused_requests'] as const;

/** What an event did in its organization. */
interface Outcome {
  /** For the count of what happened. */
  outcome: string | number;
  /** What the request itself named: the response may repeat that. */
  asked?: string;
  response?: string;
  /** The rows that it added. */
  added?: Partial<Record<Table, number>>;
  /** The tables that it may have changed. */
  changed?: Table[];
}

/** Organizations of a run's own, and the requests that events make in them. */
export class World {
  private readonly organizations: Organization[] = [];
  private readonly replica: ReturnType<typeof withReplica> | undefined;
  private readonly api: ReturnType<typeof makeApi>;
  private readonly pages = new Map<string, ReturnType<typeof openSettings>>();
  private readonly tokens = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
  private readonly name: string;
  /** Tickets of writes that created no record, by organization: its pages list them. */
  private readonly refusedTickets = new Map<number, string[]>();
  private before: Contents[] = [];
  private events = 0;

  private constructor(name: string, hasReplica: boolean) {
    this.name = name;
    this.replica = hasReplica ? withReplica(env.DB) : undefined;
    this.api = makeApi({
      agents: true,
      config: { ...UNLIMITED, signIn: signIn.config },
      bindings: { DB: this.replica?.db ?? env.DB },
    });
  }

  /** Creates a world. With a replica, the API reads keys from one that is up to nine events behind. */
  static async make(name: string, { hasReplica = false } = {}): Promise<World> {
    const world = new World(name, hasReplica);
    for (let number = 0; number <= ORGANIZATIONS; number++)
      world.organizations.push(await makeOrganization(name, number));
    await addBystanders(world.organization(ORGANIZATIONS));
    for (let at = 0; at < ORGANIZATIONS; at++) await world.fill(at);
    world.before = await contentsOf(world.organizations);
    return world;
  }

  /** Where the daily ledger of an organization disagrees with its records. */
  async ledgerInconsistencies(): Promise<string[]> {
    const own = this.organizations.slice(0, ORGANIZATIONS);
    return (await Promise.all(own.map(({ id }) => ledgerInconsistencies(env.DB, id)))).flat();
  }

  /** Four keys, one of them revoked and used since, one limited to a company, a note and a time entry. */
  private async fill(at: number): Promise<void> {
    const { mark } = this.organization(at);
    const pages = await this.pagesOf('own', at);
    const create = async (name: string, scopes: string[], companies = '*') => {
      const form = { token: crypto.randomUUID(), name, scopes, expires: 'none', companies };
      const { text } = await pages.post('/keys', form);
      return this.keep(at, text);
    };
    const shared = await create('Shared', ['tickets:note:write', 'tickets:time:write']);
    await create(`${mark} Notes`, ['tickets:note:write']);
    const lost = await create(`${mark} Lost`, ['tickets:note:write']);
    await create(`${mark} Globex`, ['tickets:note:write', 'tickets:time:write'], 'globex');
    await pages.post(`/keys/${lost.id}/revoke`, {});
    const text = `${mark} text`;
    await this.api.postNote(lost.value, { message: text });
    await this.api.postNote(shared.value, { message: text });
    const time = { minutes: 1, description: text, billable: true };
    await this.api.postTime(shared.value, time, { 'Idempotency-Key': 'a' });
    await this.api.settled();
  }

  /** Lets an event happen and checks every rule. Returns what came of it. */
  async run(event: Event): Promise<string | number> {
    const own = this.before[event.at];
    if (!own) throw new Error('no such organization');
    if (this.events++ % 10 === 0) await this.replica?.catchUp(...this.organizations.map(({ id }) => id));
    const { outcome, asked = '', response = '', added = {}, changed = [] } = await this.act(event, own);
    await this.api.settled();
    const after = await contentsOf(this.organizations);
    const named = this.refusedTickets.get(event.at) ?? [];
    const shown = named.reduce((text, ticket) => text.replaceAll(ticket, ''), response);
    for (const [number, organization] of this.organizations.entries()) {
      const [was, is] = [this.before[number], after[number]];
      if (!was || !is) throw new Error('no contents');
      if (number === event.at) {
        this.checkOwnRows(was, is, added, changed);
      } else {
        check('foreignRows', is, was);
        const foreign = privateTexts(organization, was).filter((text) => !asked.includes(text) && shown.includes(text));
        check('foreignTexts', foreign, []);
      }
    }
    this.before = after;
    return outcome;
  }

  private checkOwnRows(was: Contents, is: Contents, added: Partial<Record<Table, number>>, changed: Table[]): void {
    for (const table of TABLES) {
      if (!changed.includes(table)) check('ownTables', [table, is[table]], [table, was[table]]);
      // A refused use is a new row or adds to the count of one, and only some refused requests are recorded.
      if (REFUSAL_TABLES.some((one) => one === table)) continue;
      check('ownRows', [table, is[table].length - was[table].length], [table, added[table] ?? 0]);
    }
  }

  private act(event: Event, own: Contents): Promise<Outcome> {
    switch (event.do) {
      case 'write':
        return this.write(event, own);
      case 'open':
        return this.open(event, own);
      case 'log':
        return this.log(event, own);
      case 'send':
        return this.send(event, own);
      case 'revoke all':
        return this.revokeAll(event, own);
      case 'changes':
        return this.readChanges(event, own);
      case 'review':
        return this.review(event, own);
      case 'redact':
        return this.redact(event, own);
      default:
        return this.changeDirectory(event, own);
    }
  }

  private organization(number: number): Organization {
    const organization = this.organizations[number];
    if (!organization) throw new Error(`no organization ${number}`);
    return organization;
  }

  /** The number of the organization that the event names something of. */
  private named({ at, away }: { at: number; away: number }): number {
    return (at + away) % ORGANIZATIONS;
  }

  private key(of: number, index: number): Key {
    const { keys } = this.organization(of);
    const key = keys[index % keys.length];
    if (!key) throw new Error('no key');
    return key;
  }

  /** The id of some row of the organization that the event names, or an id that no row has. */
  private idOfSome(event: { at: number; away: number; index: number }, table: Table): string {
    const rows = this.before[this.named(event)]?.[table] ?? [];
    return String(rows[event.index % rows.length]?.['id'] ?? crypto.randomUUID());
  }

  private pagesOf(viewer: Viewer, at: number): ReturnType<typeof openSettings> {
    const email =
      viewer === 'both'
        ? `both@${this.name}.example`
        : this.organization(viewer === 'own' ? at : (at + 1) % ORGANIZATIONS).email;
    const pages = this.pages.get(`${viewer} ${at}`) ?? openSettings(this.api, this.organization(at).id, email);
    this.pages.set(`${viewer} ${at}`, pages);
    return pages;
  }

  /** Whether the viewer administers the organization. */
  private administers({ viewer, at }: { viewer: Viewer; at: number }): boolean {
    return viewer === 'both' ? at < 2 : viewer === 'own';
  }

  /** Remembers the key that a page shows. */
  private async keep(at: number, page: string): Promise<Key> {
    const { id: organization, keys } = this.organization(at);
    const value = keyIn(page);
    const hint = keyHint(value);
    const row = await env.DB.prepare('select id from api_keys where organization_id = ? and hint = ?')
      .bind(organization, hint)
      .first<{ id: string }>();
    if (!row) throw new Error(`${organization} has no key ${hint}`);
    const key = { id: row.id, value, hint };
    keys.push(key);
    return key;
  }

  /** Remembers the ticket that a refused write named: the log of refused requests lists it. */
  private refuse(at: number, ticket: string): void {
    this.refusedTickets.set(at, [...(this.refusedTickets.get(at) ?? []), ticket]);
  }

  private async write(event: EventOf<'write'>, own: Contents): Promise<Outcome> {
    const { at, kind, idempotencyKey } = event;
    const { id: organization, mark } = this.organization(at);
    const named = this.organization(this.named(event));
    const key = this.key(at, event.index);
    const ticket = event.ticket === 'own' ? `${named.mark}own` : event.ticket;
    const email = event.user && (event.user === 'own' ? `own@${named.id}.example` : `${event.user}@shared.example`);
    const userEmail = kind === 'note' ? undefined : email;
    const headers = idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey };
    const text = `${mark} text`;
    const time = { minutes: 1, description: text, billable: true, userEmail };
    const asked = `${ticket} ${userEmail}`;
    const expected = expectedWrite(own, { keyId: key.id, kind, idempotencyKey, ticket, userEmail });
    const table = kind === 'note' ? 'notes' : 'time_entries';
    const created = { added: { [table]: 1, audit_log: 1 }, changed: [table, 'audit_log'] } satisfies Partial<Outcome>;

    if (callTool && event.through === 'MCP' && idempotencyKey !== null) {
      const [name, body] =
        kind === 'note' ? (['add_internal_note', { message: text }] as const) : (['log_time', time] as const);
      const answer = await callTool(this.api, key.value, name, { ticketId: ticket, ...body, idempotencyKey });
      const response = await answer.text();
      const status = answer.status === 200 ? statusOfTool(JSON.parse(response).result) : answer.status;
      check('writeStatus', status, expected.status);
      this.checkCompanies(own, key, { ticket, status, response });
      if (status !== 201) this.refuse(at, ticket);
      const outcome = { outcome: `MCP ${status}`, asked, response };
      return status === 201 ? { ...outcome, ...created } : { ...outcome, changed: [...REFUSAL_TABLES] };
    }
    const path = `/api/v1/tickets/${ticket}/${kind === 'note' ? 'notes' : 'time-entries'}`;
    const body = kind === 'note' ? { message: text } : time;
    const dryRun = await this.api.post(`${path}/dry-run`, key.value, body, headers);
    const checked = await dryRun.text();
    const shown = [...own.notes, ...own.time_entries].filter(({ id }) => checked.includes(String(id)));
    check('dryRun', [dryRun.status, shown], [expected.status === 201 ? 200 : expected.status, []]);

    const answer = await this.api.post(path, key.value, body, headers);
    const { status } = answer;
    const written = await answer.text();
    const response = `${checked}\n${written}`;
    check('writeStatus', status, expected.status);
    this.checkCompanies(own, key, { ticket, status, response });
    if (status !== 201) this.refuse(at, ticket);
    if (status !== 201) return { outcome: status, asked, response, changed: [...REFUSAL_TABLES] };
    if (kind === 'time_entry') {
      const { entry, agreementSource } = JSON.parse(written);
      const isAgreed = expected.company === 'acme' && isActive(own.agreements, 'support');
      check(
        'writeCredit',
        [entry.userId, entry.hourlyRate, agreementSource],
        isAgreed
          ? [expected.user, agreedRate(organization), 'company_default']
          : [expected.user, defaultRate(organization), 'organization_default'],
      );
    }
    return { outcome: status, asked, response, ...created, changed: [...created.changed, ...REFUSAL_TABLES] };
  }

  /** Whatever the status should have been: no record outside of the key's companies is made or shown. */
  private checkCompanies(
    own: Contents,
    { id }: Key,
    written: { ticket: string; status: number; response: string },
  ): void {
    const { ticket, status, response } = written;
    const key = own.api_keys.find((one) => one['id'] === id);
    const company = own.tickets.find((one) => one['id'] === ticket)?.['company_id'];
    const shown = hiddenRecords(own, id).filter((record) => response.includes(record));
    check('companies', [shown, status === 201 && !admits(own, key, company)], [[], false]);
  }

  private async open(event: EventOf<'open'>, own: Contents): Promise<Outcome> {
    const { viewer, at, page } = event;
    const key = this.key(this.named(event), event.index);
    const path = page.replace('{key}', key.id);
    const { status, text } = await (await this.pagesOf(viewer, at)).get(path);
    check('pageStatus', status, this.administers(event) ? expectedPage(own, page, key.id) : 404);
    if (status === 200) await this.checkRowsOfPage(page, text, own);
    return { outcome: `${page} ${status}`, asked: path, response: text };
  }

  private async checkRowsOfPage(page: EventOf<'open'>['page'], text: string, own: Contents): Promise<void> {
    const live = own.api_keys.filter(isLive).length;
    const refused = own.refused_uses;
    switch (page) {
      case '/keys':
        check('pageRows', await countElements(text, 'tbody tr'), Math.min(25, live));
        break;
      case '/keys?state=all':
        check('pageRows', await countElements(text, 'tbody tr'), Math.min(25, own.api_keys.length));
        break;
      case '/keys.csv':
        check('pageRows', csvRows(text).length, own.api_keys.length);
        break;
      case '/refused.csv':
        check('pageRows', csvRows(text).length, refused.length);
        break;
      case '/refused-requests.csv':
        check('pageRows', csvRows(text).length, own.refused_requests.length);
        break;
      case '/refused': {
        const reasonOf = ({ key_id: key, reason }: Row) => `${key} ${reason}`;
        const counted = new Set(refused.map(reasonOf));
        const rows = new Set(own.refused_requests.map(reasonOf).filter((reason) => !counted.has(reason)));
        check('pageRows', await countElements(text, '.refused tbody tr'), refused.length + rows.size);
        // Requests that were refused alike share a row, which has a line for each.
        const requests = await countElements(text, '.refused-requests td p');
        check('pageRows', requests, Math.min(50, own.refused_requests.length));
        break;
      }
      case '/revoke-all': {
        // The number of live keys is the only number on the page, except for those in the
        // organization's name.
        const [question] = await elementsOf(text.replaceAll(/<bdi>.*?<\/bdi>/g, ''), 'main p');
        check('pageRows', Number(/\d+/.exec(question?.text ?? '')?.[0] ?? 0), live);
        break;
      }
    }
  }

  private async log(event: EventOf<'log'>, own: Contents): Promise<Outcome> {
    const { viewer, at, filter, csv } = event;
    const named = this.named(event);
    const all = this.before[named]?.audit_log ?? [];
    const entry = all[event.index % all.length] ?? {};
    const key = this.key(named, event.index).id;
    const ticket = event.index % 2 ? '1001' : `${this.organization(named).mark}own`;
    const byTarget = (id: unknown) => (one: Row) => one['target_id'] === id;
    const isOfKey = (one: Row) =>
      one['actor_id'] === key || (one['actor_type'] !== 'api_key' && one['target_id'] === key);
    const filters: Record<typeof filter, [query: string, matches: (one: Row) => boolean]> = {
      all: ['', () => true],
      key: [`?key=${key}`, isOfKey],
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
    check('pageStatus', status, this.administers(event) ? 200 : 404);
    if (status === 200) {
      const matching = own.audit_log.filter(matches).length;
      const shown = csv ? csvRows(text).length : await countElements(text, '.log li');
      check('logRows', shown, csv ? matching : Math.min(50, matching));
    }
    return { outcome: `${filter} ${status}`, asked: path, response: text };
  }

  private async send(event: EventOf<'send'>, own: Contents): Promise<Outcome> {
    const { viewer, at, form, name } = event;
    const pages = await this.pagesOf(viewer, at);
    const key = this.key(this.named(event), event.index);
    const pasted = form === 'which value' ? key.value : key.hint;
    const token = this.tokens[event.token] ?? '';
    const shown = own.api_keys.find(({ id }) => id === key.id);
    const fields = {
      token,
      name,
      revision: String(shown?.['revision']),
      scopes: ['tickets:note:write', 'tickets:time:write'],
      expires: 'none',
      grace: form === 'rotate now' ? 'now' : '1h',
      pasted,
      companies: event.companies === 'own' ? `${this.organization(this.named(event)).mark}own` : event.companies,
    };
    const action = form === 'rotate now' ? 'rotate' : form;
    const isWhichKey = action.startsWith('which');
    const path = action === 'create' ? '/keys' : isWhichKey ? '/which-key' : `/keys/${key.id}/${action}`;
    const { status, text, notice, location } = await pages.post(path, fields);
    const expected = this.administers(event) ? expectedForm(own, { form, keyId: key.id, ...fields }) : 404;
    check('formStatus', status, expected);

    const outcome: Outcome = {
      outcome: `${form} ${status}`,
      // The page shows the hints of the keys in the text, even those of other organizations.
      asked: `${key.id} ${isWhichKey ? `${pasted} ${key.hint}` : ''} ${fields.companies}`,
      response: text,
    };
    if (status >= 400) return outcome;
    if (isWhichKey) {
      check('whichKey', location?.endsWith(`/keys/${key.id}`) ?? false, shown !== undefined);
      return outcome;
    }
    if (status === 303 && (action === 'create' || action === 'rotate')) {
      check('usedForm', location?.split('/keys/')[1], createdByForm(own, token));
      return { ...outcome, outcome: `${form} again` };
    }
    outcome.changed = ['api_keys', 'audit_log'];
    // A change ends the refusals that it repairs.
    if (form === 'change') outcome.changed.push('refused_uses');
    if (status === 303) return { ...outcome, added: { audit_log: /is revoked\.|^Saved/.test(notice) ? 1 : 0 } };
    await this.keep(at, text);
    return { ...outcome, added: { api_keys: 1, audit_log: form === 'create' ? 1 : form === 'rotate' ? 2 : 3 } };
  }

  private async revokeAll(event: EventOf<'revoke all'>, own: Contents): Promise<Outcome> {
    const { status, text } = await (await this.pagesOf(event.viewer, event.at)).post('/revoke-all', {
      organization: this.organization(event.at).id,
    });
    check('formStatus', status, this.administers(event) ? 303 : 404);
    const outcome = { outcome: status, response: text };
    if (status !== 303) return outcome;
    const unrevoked = own.api_keys.filter((key) => key['revoked_at'] === null).length;
    return { ...outcome, added: { audit_log: unrevoked }, changed: ['api_keys', 'audit_log'] };
  }

  private async readChanges(event: EventOf<'changes'>, own: Contents): Promise<Outcome> {
    const { id } = this.organization(event.at);
    const [all, cursor] = [await allChanges(id), await lastCursor(id)];
    check(
      'changeFeed',
      all.map(({ seq, targetId }) => [seq, targetId]),
      own.audit_log.map((row) => [row['seq'], row['target_id']]),
    );
    const elsewhere = await work.changes(this.organization(this.named(event)).id, cursor);
    check(
      'cursor',
      elsewhere.ok ? elsewhere.value.changes : elsewhere.error.code,
      event.away === 0 ? [] : 'cursor_reset',
    );
    return { outcome: 'read', response: JSON.stringify(all) };
  }

  private async review(event: EventOf<'review'>, own: Contents): Promise<Outcome> {
    const entry = this.idOfSome(event, 'time_entries');
    const organization = this.organization(event.at).id;
    const answer = await work.reviewTimeEntry(organization, entry, 'APPROVED', event.reviewer);
    const code = expectedReview(own, entry, event.reviewer);
    check('review', answer.ok ? undefined : answer.error.code, code);
    const isNew = own.time_entries.some(({ id, status }) => id === entry && status === 'SUBMITTED');
    const outcome = {
      outcome: code ?? (isNew ? 'reviewed' : 'repeated'),
      asked: entry,
      response: JSON.stringify(answer),
    };
    return code || !isNew ? outcome : { ...outcome, added: { audit_log: 1 }, changed: ['time_entries', 'audit_log'] };
  }

  private async redact(event: EventOf<'redact'>, own: Contents): Promise<Outcome> {
    const table = event.kind === 'note' ? 'notes' : 'time_entries';
    const record = this.idOfSome(event, table);
    const answer = await work.redactRecord(this.organization(event.at).id, event.kind, record, 'the PSA');
    const expected = expectedRedaction(own, table, record);
    check('redaction', answer.ok ? answer.value.status : answer.error.code, expected ?? 'record_not_found');
    const outcome = { outcome: expected ?? 'record_not_found', asked: record, response: JSON.stringify(answer) };
    return expected === 'redacted' ? { ...outcome, added: { audit_log: 1 }, changed: [table, 'audit_log'] } : outcome;
  }

  private async changeDirectory({ at, type, to }: EventOf<'directory'>, own: Contents): Promise<Outcome> {
    const organization = this.organization(at);
    const isMoved = own.tickets.some(({ id, company_id }) => id === '1002' && company_id === 'acme');
    const company = isMoved === (to === 'moved') ? 'globex' : 'acme';
    const record = changingRecord(type, organization, to === 'active' || to === 'moved', company);
    if (to === 'deactivated') {
      const { ok } = await directory.deactivate(organization.id, [{ type, id: record.id }]);
      check('directory', ok, true);
    } else {
      await upsert(organization.id, [record]);
    }
    const tables = { user: 'users', company: 'companies', agreement: 'agreements', ticket: 'tickets' } as const;
    return { outcome: to, changed: [tables[type]] };
  }
}
