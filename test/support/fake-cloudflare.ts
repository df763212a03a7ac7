import { createServer, type IncomingMessage } from 'node:http';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { ACCOUNT, MINIMAL } from './deployments.ts';
import { listen } from './listen.ts';

/** What happens to a call: its answer is lost after the effect, it fails before the effect, or it takes long. */
export type Fault = 'lost' | 'refused' | '500' | '403' | 'html' | 'slow';

/** The token that the fake accepts. */
export const TOKEN = 'token-0123456789';
const ZONE = { id: '020e'.padStart(32, '0'), name: MINIMAL.zone, status: 'active' };
const LOGIN = { id: 'login-0', type: 'cloudflare', name: 'Cloudflare' };

type Item = Record<string, unknown> & { id: string };
interface Database {
  uuid: string;
  name: string;
  jurisdiction?: string;
  sql: DatabaseSync;
}
interface Binding {
  type: string;
  name: string;
  text?: string | undefined;
  id?: string | undefined;
  script_name?: string | undefined;
}
export interface Script {
  bindings: Binding[];
  secrets: Record<string, string>;
  tag: string;
}

interface Organization {
  auth_domain: string;
  deny_unmatched_requests?: boolean;
  deny_unmatched_requests_exempted_zone_names?: string[];
}

class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const named = z.looseObject({ name: z.string().optional() });
const databaseBody = z.strictObject({
  name: z.string(),
  primary_location_hint: z.string().optional(),
  jurisdiction: z.string().optional(),
});
const query = z.object({
  sql: z.string().optional(),
  batch: z.array(z.object({ sql: z.string(), params: z.array(z.unknown()) })).optional(),
});
const binding = z.looseObject({
  type: z.string(),
  name: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  script_name: z.string().optional(),
});
const origins = z.object({
  override_existing_origin: z.boolean().optional(),
  origins: z.array(z.looseObject({ hostname: z.string() })),
});
const ruleBody = z.looseObject({ ref: z.string(), expression: z.string() });

/**
 * Cloudflare's API as far as setup and the pinned wrangler use it. It remembers the calls that it does not know: a test
 * expects none. D1 is SQLite. State, calls and faults belong to the test.
 */
export async function startFakeCloudflare() {
  let ids = 0;
  const nextId = () => `id-${++ids}`;
  const state = {
    databases: [] as Database[],
    scripts: new Map<string, Script>(),
    domains: [] as { hostname: string; service: string }[],
    records: [] as { type: string; name: string; content: string }[],
    routes: [] as { id: string; pattern: string; script: string }[],
    organization: undefined as Organization | undefined,
    logins: [] as Item[],
    policies: [] as Item[],
    applications: [] as Item[],
    rules: undefined as Item[] | undefined,
    /** What only the dashboard enables. */
    enabled: { access: true },
    /** The permissions that the token lacks, as the beginning of the calls that need them. */
    forbidden: undefined as RegExp | undefined,
  };
  const calls: string[] = [];
  const unknown: string[] = [];
  const faults: { on: RegExp; fault: Fault; times: number }[] = [];

  const script = (name: string) => {
    const found = state.scripts.get(name);
    if (!found) throw new Refusal(404, 10007, 'This Worker does not exist on your account.');
    return found;
  };
  const settings = (name: string) => {
    const { bindings, secrets } = script(name);
    return {
      bindings: [...bindings, ...Object.keys(secrets).map((secret) => ({ type: 'secret_text', name: secret }))],
    };
  };
  const database = (uuid: string) => {
    const found = state.databases.find((one) => one.uuid === uuid);
    if (!found) throw new Refusal(404, 7404, 'The database does not exist.');
    return found;
  };
  const shown = ({ uuid, name, jurisdiction }: Database) => ({
    ...{ uuid, name, jurisdiction, version: 'production' },
  });
  const requireAccess = () => {
    if (!state.enabled.access || !state.organization) throw new Refusal(404, 9999, 'access.api.error.not_enabled');
    return state.organization;
  };
  const add = (list: Item[], body: unknown, more: object = {}) => {
    const item = { ...named.parse(body), ...more, id: nextId(), created_at: new Date(Date.now()).toISOString() };
    list.push(item);
    return item;
  };
  const upload = (name: string, form: Record<string, string>) => {
    const { bindings } = z.object({ bindings: z.array(binding) }).parse(JSON.parse(form['metadata'] ?? ''));
    for (const { script_name: owner } of bindings)
      if (owner !== undefined && !state.scripts.has(owner))
        throw new Refusal(400, 10061, `The script ${owner} was not found.`);
    const before = state.scripts.get(name);
    const secrets = { ...before?.secrets };
    for (const { type, name: secret, text } of bindings) if (type === 'secret_text' && text) secrets[secret] = text;
    const tag = before?.tag ?? nextId();
    const kept = bindings.filter(({ type }) => type !== 'secret_text' && type !== 'inherit');
    state.scripts.set(name, { bindings: kept, secrets, tag });
    return { id: name, tag, deployment_id: nextId(), version: nextId(), resources: { script: { etag: 'e' } } };
  };
  const run = (sql: DatabaseSync, source: string, params: unknown[]) => {
    const results: object[] = [];
    const fromStatement = (text: string) => text.replace(/^(?:[\s;]|--.*\n?)+/, '');
    for (let rest = fromStatement(source); rest !== ''; ) {
      const statement = sql.prepare(rest);
      // Only values that JSON has.
      results.push({ success: true, meta: { duration: 0 }, results: statement.all(...(params as SQLInputValue[])) });
      rest = fromStatement(rest.slice(statement.sourceSQL.length));
    }
    return results;
  };

  type Handler = (call: { p: string[]; q: URLSearchParams; body: unknown; form: Record<string, string> }) => unknown;
  const PHASE = '/zones/:z/rulesets/phases/http_request_firewall_custom/entrypoint';
  const handlers: Record<string, Handler> = {
    'GET /accounts': () => [{ id: ACCOUNT, name: 'Example' }],
    // After a 403, wrangler asks whose token it has: that of a user, whom it may not read.
    'GET /user/tokens/verify': () => ({ id: 'token', status: 'active' }),
    'GET /user': () => {
      throw new Refusal(403, 9109, 'Unauthorized to access requested resource');
    },
    'GET /memberships': () => {
      throw new Refusal(403, 10000, 'Authentication error');
    },
    'GET /zones': ({ q }) => [ZONE].filter(({ name }) => q.get('name') === name),
    'GET /zones/:z/dns_records': ({ q }) => state.records.filter(({ name }) => name === q.get('name')),
    'GET /zones/:z/workers/routes': () => state.routes,

    'GET /d1/database': ({ q }) => state.databases.filter(({ name }) => name.includes(q.get('name') ?? '')).map(shown),
    'POST /d1/database': ({ body }) => {
      const wanted = databaseBody.parse(body);
      if (state.databases.some(({ name }) => name === wanted.name))
        throw new Refusal(400, 7502, 'A database with that name already exists');
      const uuid = `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
      const { name, jurisdiction } = wanted;
      const made = { uuid, name, sql: new DatabaseSync(':memory:'), ...(jurisdiction && { jurisdiction }) };
      state.databases.push(made);
      return shown(made);
    },
    'GET /d1/database/:d': ({ p: [, uuid = ''] }) => shown(database(uuid)),
    'POST /d1/database/:d/query': ({ p: [, uuid = ''], body }) => {
      const { sql } = database(uuid);
      const { batch, sql: source = '' } = query.parse(body);
      sql.exec('begin');
      try {
        const results = (batch ?? [{ sql: source, params: [] }]).flatMap((one) => run(sql, one.sql, one.params));
        sql.exec('commit');
        return results;
      } catch (err) {
        sql.exec('rollback');
        throw new Refusal(400, 7500, `${err instanceof Error ? err.message : err}: SQLITE_ERROR`);
      }
    },

    'GET /workers/scripts': () => [...state.scripts.keys()].map((id) => ({ id })),
    'GET /workers/services/:s': ({ p: [, name = ''] }) => {
      if (!state.scripts.has(name)) throw new Refusal(404, 10090, 'This Worker does not exist on your account.');
      return {
        id: name,
        default_environment: { environment: 'production', script: { tag: script(name).tag, tags: [] } },
      };
    },
    'GET /workers/scripts/:s/settings': ({ p: [, name = ''] }) => settings(name),
    'GET /workers/services/:s/environments/production/settings': ({ p: [, name = ''] }) => settings(name),
    'GET /workers/scripts/:s/secrets': ({ p: [, name = ''] }) =>
      Object.keys(script(name).secrets).map((secret) => ({ name: secret, type: 'secret_text' })),
    'PUT /workers/scripts/:s/secrets': ({ p: [, name = ''], body }) => {
      const secret = z.object({ name: z.string(), text: z.string() }).parse(body);
      script(name).secrets[secret.name] = secret.text;
      return { name: secret.name, type: 'secret_text' };
    },
    'PATCH /workers/scripts/:s/script-settings': () => ({}),
    'GET /workers/scripts/:s/deployments': ({ p: [, name = ''] }) => ({
      deployments: [{ id: script(name).tag, versions: [{ version_id: script(name).tag, percentage: 100 }] }],
    }),
    'POST /workers/scripts/:s/deployments': () => ({ id: nextId() }),
    'GET /workers/scripts/:s/versions': ({ p: [, name = ''] }) => ({ items: [{ id: script(name).tag }] }),
    'GET /workers/scripts/:s/versions/:v': ({ p: [, name = '', id] }) => ({ id, resources: settings(name) }),
    'POST /workers/scripts/:s/assets-upload-session': ({ body }) => ({
      jwt: 'e30.e30.x',
      buckets: [
        Object.values(
          z.object({ manifest: z.record(z.string(), z.object({ hash: z.string() })) }).parse(body).manifest,
        ).map(({ hash }) => hash),
      ],
    }),
    'POST /workers/assets/upload': () => ({ jwt: 'e30.e30.x' }),
    'PUT /workers/scripts/:s': ({ p: [, name = ''], form }) => upload(name, form),
    'POST /workers/scripts/:s/versions': ({ p: [, name = ''], form }) => {
      const { version, ...rest } = upload(name, form);
      return { ...rest, id: version };
    },
    'GET /workers/workers/:s': ({ p: [, name = ''] }) => ({
      id: script(name).tag,
      subdomain: { enabled: false, previews_enabled: false },
    }),
    'POST /workers/scripts/:s/subdomain': () => ({ enabled: false, previews_enabled: false }),
    'PUT /workers/scripts/:s/schedules': ({ body }) => ({ schedules: body }),
    'PUT /workers/scripts/:s/routes': ({ p: [, name = ''], body }) => {
      const patterns = z.array(z.looseObject({ pattern: z.string() })).parse(body);
      state.routes = [
        ...state.routes.filter((one) => one.script !== name),
        ...patterns.map(({ pattern }) => ({ id: pattern, pattern, script: name })),
      ];
      return body;
    },
    'GET /workers/domains': ({ q }) => state.domains.filter(({ hostname }) => hostname === q.get('hostname')),
    'POST /workers/scripts/:s/domains/changeset': ({ body }) => ({
      added: body,
      removed: [],
      updated: [],
      conflicting: [],
    }),
    'PUT /workers/scripts/:s/domains/records': ({ p: [, name = ''], body }) => {
      for (const { hostname } of origins.parse(body).origins) {
        const other = state.domains.find((one) => one.hostname === hostname && one.service !== name);
        // As the real one does for wrangler without a terminal.
        if (other) other.service = name;
        else if (!state.domains.some((one) => one.hostname === hostname))
          state.domains.push({ hostname, service: name });
      }
      return body;
    },

    'GET /access/organizations': requireAccess,
    'POST /access/organizations': ({ body }) => {
      if (!state.enabled.access) throw new Refusal(404, 9999, 'access.api.error.not_enabled');
      if (state.organization) throw new Refusal(409, 12130, 'access.api.error.conflict');
      state.logins.push(LOGIN);
      state.organization = z.object({ name: z.string(), auth_domain: z.string() }).parse(body);
      return state.organization;
    },
    'GET /access/identity_providers': () => requireAccess() && state.logins,
    'POST /access/identity_providers': ({ body }) => {
      if (state.logins.some(({ type }) => type === 'onetimepin'))
        throw new Refusal(409, 12130, 'access.api.error.conflict');
      return requireAccess() && add(state.logins, body);
    },
    'GET /access/policies': () => requireAccess() && state.policies,
    'POST /access/policies': ({ body }) => add(state.policies, body),
    'DELETE /access/policies/:i': ({ p: [, id] }) => {
      state.policies = state.policies.filter((one) => one.id !== id);
      return { id };
    },
    'GET /access/apps': () => requireAccess() && state.applications,
    'POST /access/apps': ({ body }) => {
      const { policies, allowed_idps: logins } = z
        .looseObject({
          policies: z.array(z.object({ id: z.string(), precedence: z.number() })),
          allowed_idps: z.array(z.string()),
        })
        .parse(body);
      const isKnown =
        policies.every(({ id }) => state.policies.some((one) => one.id === id)) &&
        logins.every((id) => state.logins.some((one) => one.id === id));
      if (!isKnown) throw new Refusal(400, 12130, 'access.api.error.invalid_request');
      return requireAccess() && add(state.applications, body, { aud: nextId() });
    },
    'DELETE /access/apps/:i': ({ p: [, id] }) => {
      state.applications = state.applications.filter((one) => one.id !== id);
      return { id };
    },

    [`GET ${PHASE}`]: () => {
      if (!state.rules) throw new Refusal(404, 10003, 'could not find entrypoint ruleset');
      return { id: 'ruleset', rules: state.rules };
    },
    [`PUT ${PHASE}`]: ({ body }) => {
      const { rules } = z.strictObject({ rules: z.array(ruleBody) }).parse(body);
      state.rules = rules.map((rule) => ({ ...rule, id: nextId() }));
      return { id: 'ruleset', rules: state.rules };
    },
    'POST /zones/:z/rulesets/:r/rules': ({ body }) => {
      const { position: _, ...rule } = ruleBody.parse(body);
      if (state.rules?.some(({ ref }) => ref === rule.ref)) throw new Refusal(400, 20120, 'the ref is not unique');
      state.rules?.unshift({ ...rule, id: nextId() });
      return { id: 'ruleset', rules: state.rules };
    },
  };
  const routes = Object.entries(handlers).map(([call, handler]) => {
    const [method = '', path = ''] = call.split(' ');
    const prefix = /^\/(?:zones|user|memberships|accounts$)/.test(path) ? '()' : '/accounts/([^/]+)';
    return { method, pattern: new RegExp(`^${prefix}${path.replaceAll(/:\w+/g, '([^/]+)')}$`), handler };
  });

  async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown } | 'destroy'> {
    const url = new URL(request.url ?? '', 'http://api');
    const call = `${request.method} ${url.pathname.replace(`/accounts/${ACCOUNT}`, '')}`;
    const bytes = await buffer(request);
    calls.push(call);
    const given = faults.find(({ on, times }) => times > 0 && on.test(call));
    if (given) given.times -= 1;
    const refuse = (status: number, code: number, message: string) => ({
      status,
      body: { success: false, errors: [{ code, message }], messages: [], result: null },
    });
    if (given?.fault === 'refused') return 'destroy';
    if (given?.fault === 'html') return { status: 502, body: `<html>\n${'<p>Bad gateway</p>\n'.repeat(100)}</html>` };
    if (given?.fault === '500') return refuse(500, 10013, 'An unknown error has occurred');
    const isAllowed =
      [`Bearer ${TOKEN}`, 'Bearer e30.e30.x'].includes(request.headers.authorization ?? '') &&
      !state.forbidden?.test(call);
    if (given?.fault === '403' || !isAllowed) return refuse(403, 10000, 'Authentication error');
    if (given?.fault === 'slow') await setTimeout(500);
    const route = routes.find(({ method, pattern }) => method === request.method && pattern.test(url.pathname));
    if (!route) {
      unknown.push(call);
      return refuse(404, 7003, `No route for ${call}`);
    }
    try {
      const type = request.headers['content-type'] ?? '';
      const form = type.startsWith('multipart/') ? await formOf(bytes, type) : {};
      const body = type.startsWith('application/json') && bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
      const p = (route.pattern.exec(url.pathname) ?? []).slice(1).map((part) => decodeURIComponent(part));
      const result = route.handler({ p, q: url.searchParams, body, form });
      return given?.fault === 'lost'
        ? 'destroy'
        : { status: 200, body: { success: true, errors: [], messages: [], result } };
    } catch (err) {
      if (err instanceof Refusal) return refuse(err.status, err.code, err.message);
      unknown.push(`${call}: ${err}`);
      return refuse(500, 1, String(err));
    }
  }

  const server = createServer((request, response) => {
    if (request.url === '/healthz') return void response.end('{}');
    void answer(request).then((given) => {
      if (given === 'destroy') return void request.socket.destroy();
      const isText = typeof given.body === 'string';
      response.writeHead(given.status, { 'Content-Type': isText ? 'text/html' : 'application/json' });
      response.end(isText ? given.body : JSON.stringify(given.body));
    });
  });
  const url = await listen(server);
  return {
    url,
    /** With these variables, programs use it. */
    env: { CLOUDFLARE_API_BASE_URL: url, CLOUDFLARE_API_TOKEN: TOKEN },
    state,
    calls,
    unknown,
    /** Lets the next calls of this kind fail. */
    fail: (on: RegExp, fault: Fault, times = 1) => void faults.push({ on, fault, times }),
    /** Lets no further call fail. */
    succeed: () => void faults.splice(0),
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function formOf(bytes: Buffer, type: string): Promise<Record<string, string>> {
  const form = await new Response(new Uint8Array(bytes), { headers: { 'Content-Type': type } }).formData();
  const texts = [...form].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()]);
  return Object.fromEntries(await Promise.all(texts));
}

/** A fake with the database and these Workers of a deployment with the MINIMAL settings. It runs until the test ends. */
export async function fakeDeployment(workers: Record<string, Partial<Script>> = {}) {
  const fake = await startFakeCloudflare();
  onTestFinished(fake.close);
  const sql = new DatabaseSync(':memory:');
  fake.state.databases.push({ uuid: MINIMAL.database, name: 'ticket-write-back', sql });
  for (const [name, worker] of Object.entries(workers))
    fake.state.scripts.set(name, { bindings: [], secrets: {}, tag: 'tag', ...worker });
  return { ...fake, sql };
}

/** What exists, without ids. */
export function worldOf({ state }: Awaited<ReturnType<typeof startFakeCloudflare>>) {
  const { databases, scripts, domains, organization, logins, policies, applications, rules } = state;
  return {
    domains,
    organization,
    databases: databases.map(({ name, sql }) => ({
      name,
      organizations: sql.prepare('select id, time_zone from organizations').all(),
      administrators: sql.prepare('select email from users where is_admin = 1').all(),
    })),
    scripts: [...scripts.keys()],
    logins: logins.map(({ type }) => type),
    policies: policies.map(({ name, include }) => ({ name, include })),
    applications: applications.map(({ domain, allowed_idps: logins }) => [domain, (logins as string[]).length]),
    rules: rules?.map(({ ref, expression }) => ({ ref, expression })),
  };
}
