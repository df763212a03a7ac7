import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createAgents } from '../../src/agents/app.ts';
import { createApp } from '../../src/app.ts';
import { type Config, parseConfig } from '../../src/config.ts';
import type { NewApiKey, Rotation } from '../../src/domain/key-input.ts';
import { timeOrderedId } from '../../src/domain/record-id.ts';
import type { Approver, Scope } from '../../src/domain/record-kinds.ts';
import { SYSTEM_CLOCK } from '../../src/http/middleware/request.ts';
import { startModules } from '../../src/module.ts';
import { MODULES } from '../../src/modules.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { fromCaller } from '../../src/rpc/api.ts';
import { type CreatedKey, createApiKey } from '../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../src/services/keys/read-keys.ts';
import { revokeAsAdministrator } from '../../src/services/keys/revoke-key.ts';
import { rotateApiKey } from '../../src/services/keys/rotate-key.ts';
import type { AdminContext, SystemContext } from '../../src/services/service-context.ts';
import { countD1 } from './d1.ts';
import { countLimiters, limitersInMemory } from './limiter.ts';
import { rememberBody, rememberKey } from './secrets.ts';

/** Limits that no test reaches. */
export const UNLIMITED = {
  ipLimit: { quota: 10_000, windowMs: 1_000 },
  keyLimit: { quota: 10_000, windowMs: 1_000 },
};

export const BOTH_SCOPES: Scope[] = ['tickets:note:write', 'tickets:time:write'];

/** The configuration of the tests: the defaults, with some changes. */
export function config(changes: Partial<Config> = {}): Config {
  return { ...parseConfig(env), ...changes };
}

let organizations = 0;

interface OrganizationOptions {
  psa?: boolean;
  timeZone?: string;
  approvals?: Approver;
}

/** Tables of the directory. Each references only earlier tables. */
const DIRECTORY = ['organizations', 'users', 'companies', 'agreements', 'tickets', 'directory_clock'];
type Row = Record<string, unknown>;
/** One organization's rows in each of these tables. */
let imported: Promise<Row[][]> | undefined;

/**
 * A new organization: administrator `ada`, technicians `tess` and (inactive) `ivan`, service
 * account `automation`; companies acme (150.00 an hour), globex (no agreement) and initech
 * (inactive agreement), with tickets 1001 to 1003; default rate 120.00. A copy of one that was
 * imported, because an import takes eight times as long.
 */
export async function makeOrganization({
  psa = true,
  timeZone = 'UTC',
  approvals = 'settings',
}: OrganizationOptions = {}): Promise<string> {
  const organization = newOrganizationId();
  imported ??= importOrganization();
  const settings = { id: organization, has_psa: psa ? 1 : 0, time_zone: timeZone, approvals };
  const insert = (table: string | undefined, row: Row) => {
    const values = Object.values({
      ...row,
      ...('organization_id' in row ? { organization_id: organization } : settings),
    });
    return env.DB.prepare(`insert into ${table} values (${values.map(() => '?').join(', ')})`).bind(...values);
  };
  await env.DB.batch((await imported).flatMap((rows, index) => rows.map((row) => insert(DIRECTORY[index], row))));
  return organization;
}

const newOrganizationId = () => `org-${++organizations}-${crypto.randomUUID().slice(0, 8)}`;

async function importOrganization(): Promise<Row[][]> {
  const organization = newOrganizationId();
  const user = { type: 'user', organization };
  await importRecords(
    { type: 'organization', id: organization, name: 'Northwind', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 },
    { ...user, id: 'ada', email: 'ada@northwind.example', name: 'Ada', admin: true },
    { ...user, id: 'tess', email: 'tess@northwind.example', name: 'Tess', technician: true },
    { ...user, id: 'ivan', email: 'ivan@northwind.example', name: 'Ivan', technician: true, active: false },
    { ...user, id: 'automation', email: 'automation@northwind.example', name: 'Automation', service: true },
    { type: 'company', organization, id: 'acme', name: 'Acme' },
    { type: 'company', organization, id: 'globex', name: 'Globex' },
    { type: 'company', organization, id: 'initech', name: 'Initech' },
    { type: 'agreement', organization, id: 'acme-support', company: 'acme', hourlyRate: 150 },
    { type: 'agreement', organization, id: 'initech-support', company: 'initech', hourlyRate: 200, active: false },
    { type: 'ticket', organization, id: '1001', company: 'acme' },
    { type: 'ticket', organization, id: '1002', company: 'globex' },
    { type: 'ticket', organization, id: '1003', company: 'initech' },
  );
  const selects = DIRECTORY.map((table) =>
    env.DB.prepare(`select * from ${table} where ${table === 'organizations' ? 'id' : 'organization_id'} = ?`),
  );
  const found = await env.DB.batch<Row>(selects.map((select) => select.bind(organization)));
  return found.map(({ results }) => results);
}

/** An organization with a key for both scopes, and an app that serves it. */
export async function makeWorld(options?: OrganizationOptions) {
  const organization = await makeOrganization(options);
  const { value: key, id: keyId } = await makeKey(organization);
  return { organization, key, keyId, api: makeApi() };
}

/** Imports directory records; throws if one of them is refused. */
export async function importRecords(...records: Record<string, unknown>[]): Promise<void> {
  const result = await importDirectory(env.DB, records.map((record) => JSON.stringify(record)).join('\n'));
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
}

/** Imports an organization of the tests again, with these changes. */
export const changeOrganization = (id: string, changes: { psa?: boolean; timeZone?: string; active?: boolean }) =>
  importRecords({
    type: 'organization',
    id,
    name: 'N',
    psa: true,
    timeZone: 'UTC',
    defaultHourlyRate: 120,
    ...changes,
  });

/** Acting as the organization's administrator. */
export function asAdmin(organizationId: string, now: () => number = Date.now): AdminContext {
  const source = { address: '192.0.2.1', userAgent: 'test' };
  const actor = { organizationId, userId: 'ada' };
  return { db: env.DB, now, deadlineAt: Date.now() + 10_000, requestId: timeOrderedId(Date.now()), actor, source };
}

/** Acting as an operator. */
export const asOperator = (db = env.DB, now: () => number = Date.now): SystemContext => ({
  db,
  now,
  deadlineAt: Date.now() + 10_000,
  requestId: timeOrderedId(Date.now()),
  actor: 'operator',
  source: { address: null, userAgent: 'operator' },
});

/** What differs from the default key. Limits are written together; the service takes them one by one. */
export interface KeyOptions extends Partial<NewApiKey> {
  dayLimit?: { records?: number; minutes?: number };
  networks?: string;
}

/** The input of the service for these options. */
export const toInput = ({ dayLimit, networks, ...input }: KeyOptions) => ({
  dayLimitRecords: dayLimit?.records,
  dayLimitMinutes: dayLimit?.minutes,
  allowedNetworks: networks,
  ...input,
});

const keysMade = new Map<string, number>();

/**
 * Creates a key as the administrator, with both scopes unless `changes` has others. The first key
 * of an organization is named `n8n: triage`, the next `n8n: triage 2`.
 */
export async function makeKey(
  organizationId: string,
  changes: KeyOptions = {},
  now: () => number = Date.now,
): Promise<CreatedKey> {
  const number = (keysMade.get(organizationId) ?? 0) + 1;
  keysMade.set(organizationId, number);
  const name = number === 1 ? 'n8n: triage' : `n8n: triage ${number}`;
  const key = await createApiKey(asAdmin(organizationId, now), config().keyPrefix, {
    name,
    scopes: BOTH_SCOPES,
    ...toInput(changes),
  });
  await rememberKey(key.value);
  return key;
}

/** Revokes a key as the administrator. */
export function revoke(organizationId: string, keyId: string): Promise<unknown> {
  return revokeAsAdministrator(asAdmin(organizationId), keyId);
}

/** Rotates a key as the administrator, and returns its successor. */
export async function rotate(
  organizationId: string,
  keyId: string,
  rotation: Rotation,
  now: () => number = Date.now,
): Promise<CreatedKey> {
  const admin = asAdmin(organizationId, now);
  const successor = await rotateApiKey(
    admin,
    config().keyPrefix,
    await getOwnKey(admin, keyId),
    rotation,
    crypto.randomUUID(),
  );
  await rememberKey(successor.value);
  return successor;
}

interface ApiOptions {
  now?: () => number;
  /** How requests wait for a ticket. */
  sleep?: (ms: number) => Promise<void>;
  config?: Partial<Config>;
  bindings?: Partial<Env>;
  /** The origin of its URLs. It may be one that cannot be parsed, as after an invalid Host header. */
  origin?: string;
  /** Variables and secrets of modules. */
  vars?: Record<string, string>;
  /** Whether the Worker for AI agents answers /mcp. */
  agents?: boolean;
}

/** A new app to which requests are sent directly. It has its own caches, like an isolate. */
export function makeApi({ origin = 'https://api.example', ...options }: ApiOptions = {}) {
  const bindings: Env = { ...env, RATE_LIMITER: limitersInMemory(env.RATE_LIMITER), ...options.bindings };
  const deployed = config(options.config);
  const contributions = startModules(MODULES, { ...bindings, ...options.vars }, deployed);
  const app = createApp(deployed, contributions, {
    ...SYSTEM_CLOCK,
    ...(options.now && { now: options.now }),
    ...(options.sleep && { sleep: options.sleep }),
  });
  const agents = options.agents && createAgents();
  const contexts: ExecutionContext[] = [];

  // Each app has its own client address, so that no two tests share a limit.
  const address = `2001:db8:${randomHex()}:${randomHex()}::1`;

  /** Sends a request. */
  async function send(
    path: string,
    init: RequestInit & { key?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const { key, headers, ...rest } = init;
    if (typeof rest.body === 'string') rememberBody(rest.body);
    const context = createExecutionContext();
    contexts.push(context);
    const url = `${origin}${path}`;
    const request = new Request(URL.canParse(url) ? url : `https://api.example${path}`, {
      ...rest,
      headers: {
        'CF-Connecting-IP': address,
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
    if (!URL.canParse(url)) Object.defineProperty(request, 'url', { value: url });
    if (!path.startsWith('/mcp') || !agents) return app.fetch(request, bindings, context);
    const API = {
      send: async (asked: Request, from: string | null) => app.fetch(fromCaller(asked, from), bindings, context),
    };
    return agents.fetch(request, { API }, context);
  }

  /** Posts a body as JSON. A string or bytes are sent unchanged. */
  function post(path: string, key: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    return send(path, { method: 'POST', key, body: raw, headers: { 'Content-Type': 'application/json', ...headers } });
  }

  return {
    send,
    post,
    /** Waits for the work that continues after the responses so far. */
    settled: () => Promise.all(contexts.splice(0).map(waitOnExecutionContext)),
    postNote: (key: string, body: unknown = NOTE, headers?: Record<string, string>, ticket = '1001') =>
      post(`/api/v1/tickets/${ticket}/notes`, key, body, headers),
    postTime: (key: string, body: unknown = TIME, headers?: Record<string, string>, ticket = '1001') =>
      post(`/api/v1/tickets/${ticket}/time-entries`, key, body, headers),
  };
}

/** An app whose calls to D1 and to limiter objects are counted, in lists that grow. */
export function makeCountedApi(options: Parameters<typeof makeApi>[0] = {}) {
  const d1 = countD1(options.bindings?.DB ?? env.DB);
  const limiters = countLimiters(env.RATE_LIMITER);
  const bindings = { ...options.bindings, DB: d1.db, RATE_LIMITER: limiters.namespace };
  return { api: makeApi({ ...options, bindings }), d1: d1.calls, limiters: limiters.names };
}

/** A response as a prober sees it: everything except the value of the request id. */
export const seenByProber = async (response: Response) => ({
  status: response.status,
  headers: [...response.headers].map(([name, value]): [string, string] => [
    name,
    name === 'x-request-id' ? 'an id' : value,
  ]),
  body: await response.text(),
});

/** The input that removes all key rules. */
export const NO_KEY_RULES = { maxLifetimeDays: null, expiryRequired: false, longMinutes: 240 };

/** A valid body for a note. */
export const NOTE = { message: 'Restarted the print spooler' };

/** A valid body for a time entry. */
export const TIME = { minutes: 30, description: 'Cleared the print queue', billable: true };

/** An IPv4 address of this test alone, so that no two tests share a limit. */
export const newAddress = () => `10.${Array.from(crypto.getRandomValues(new Uint8Array(3))).join('.')}`;

const randomHex = () => Math.floor(Math.random() * 0x10000).toString(16);

/** The rows of a table that belong to the organization. */
export async function rowsOf(
  table:
    | 'connections'
    | 'notes'
    | 'tickets'
    | 'users'
    | 'time_entries'
    | 'audit_log'
    | 'api_keys'
    | 'key_days'
    | 'refused_uses'
    | 'refused_requests'
    | 'key_rules'
    | 'alerts'
    | 'psa_refusals',
  organizationId: string,
): Promise<Record<string, unknown>[]> {
  const { results } = await env.DB.prepare(`select * from ${table} where organization_id = ?`)
    .bind(organizationId)
    .all();
  return results;
}

/** A problem as its status and code, such as `404 ticket_not_found`. */
export async function problemOf(answer: Response | Promise<Response>): Promise<string> {
  const response = await answer;
  const { code } = await response.json<{ code?: string }>();
  return `${response.status} ${code}`;
}

/** The errors of a problem, each as its pointer and code, such as `/minutes out_of_range`. */
export async function fieldErrorsOf(answer: Response | Promise<Response>): Promise<string[]> {
  const { errors = [] } = await (await answer).json<{ errors?: { pointer: string; code: string }[] }>();
  return errors.map(({ pointer, code }) => `${pointer} ${code}`);
}
