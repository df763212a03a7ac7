import { readFile } from 'node:fs/promises';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { migrate } from '../../../../src/dev/migrate.ts';
import { importDirectory } from '../../../../src/ops/import/import-directory.ts';
import { wranglerConfig } from '../../../../src/ops/wrangler-config.ts';
import { createApiKey } from '../../../../src/services/keys/create-key.ts';
import { readBundle } from '../../../support/production-worker.ts';
import { type Incoming, type Intercept, serveProxy } from '../../../support/proxy.ts';
import { productionBundle } from '../../../support/shared.ts';

/** A deployment: its two Workers behind one address, as a zone's routes serve them. */
export interface LocalDeployment {
  name: 'eu' | 'us';
  url: string;
  /** A key of an organization that only this deployment has. */
  key: string;
  organization: string;
  db: D1Database;
  /** Serves the deployment behind a proxy that changes something, for as long as `use` runs. */
  behind<T>(intercept: Intercept, use: (url: string) => Promise<T>): Promise<T>;
}

/** Two deployments in one runtime, each with its own database, objects and key prefix. */
export async function startTwoDeployments(): Promise<{
  deployments: readonly [LocalDeployment, LocalDeployment];
  /** Serves the first one with a Worker for AI agents that is paused, or has the schema of an older release. */
  withOtherAgents<T>(agents: 'paused' | 'old', use: (url: string) => Promise<T>): Promise<T>;
  close: () => Promise<void>;
}> {
  const main = await readBundle(await productionBundle());
  const agents = await readBundle(await productionBundle('agents'));
  const worker = ({ script, texts }: typeof main, name: string, vars: Record<string, string>, database: string) => ({
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...texts],
    compatibilityDate: wranglerConfig.compatibility_date,
    bindings: vars,
    d1Databases: { DB: database },
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  });
  const own = (className: string) => ({ className, useSQLite: true });
  const of = (className: string, scriptName: string) => ({ ...own(className), scriptName });
  const mainWorker = (name: string, prefix: string) => ({
    ...worker(main, name, { KEY_PREFIX: prefix, KEY_LIMIT: '200/10s' }, name),
    durableObjects: { RATE_LIMITER: own('RateLimiter'), PUSHER: own('Pusher') },
  });
  const agentsWorker = (name: string, script: string, vars: Record<string, string>, database: string) => ({
    ...worker(agents, name, { KEY_LIMIT: '200/10s', ...vars }, database),
    durableObjects: { RATE_LIMITER: of('RateLimiter', script), PUSHER: of('Pusher', script) },
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      unsafeEphemeralDurableObjects: true,
      cf: false,
      handleStructuredLogs: () => undefined,
      workers: [
        mainWorker('eu', 'eu'),
        agentsWorker('eu-agents', 'eu', { KEY_PREFIX: 'eu' }, 'eu'),
        mainWorker('us', 'us'),
        agentsWorker('us-agents', 'us', { KEY_PREFIX: 'us' }, 'us'),
        agentsWorker('paused', 'eu', { KEY_PREFIX: 'eu', MODE: 'paused' }, 'eu'),
        agentsWorker('old', 'eu', { KEY_PREFIX: 'eu' }, 'old'),
      ],
    }),
  );
  await miniflare.ready;
  const origin = async (name: string) => (await miniflare.unsafeGetDirectURL(name)).origin;

  const proxies: { close: () => Promise<void> }[] = [];
  const serve = async (name: 'eu' | 'us', agentsName: string, intercept: Intercept) => {
    const [mainUrl, agentsUrl] = [await origin(name), await origin(agentsName)];
    const routed: Intercept = (incoming, pass) =>
      intercept(incoming, () => {
        if (incoming.path === '/docs') return Promise.resolve(staticFile());
        if (incoming.path === '/api/v1/openapi.json') return Promise.resolve(staticFile('{"openapi":"3.1.0"}'));
        return incoming.path === '/mcp' ? forward(agentsUrl, incoming) : pass();
      });
    return serveProxy(mainUrl, routed);
  };
  const during = async <T>(
    proxy: Promise<{ url: string; close: () => Promise<void> }>,
    use: (url: string) => Promise<T>,
  ) => {
    const { url, close } = await proxy;
    try {
      return await use(url);
    } finally {
      await close();
    }
  };

  const deploy = async (name: 'eu' | 'us'): Promise<LocalDeployment> => {
    const db = await miniflare.getD1Database('DB', name);
    await migrate(db);
    const organization = `${name}-msp`;
    const demo = await readFile('src/dev/demo-directory.ndjson', 'utf8');
    const imported = await importDirectory(db, demo.replaceAll('northwind', organization));
    if (!imported.ok) throw new Error(JSON.stringify(imported.errors));
    const ctx = { db, now: Date.now, requestId: 'setup', deadlineAt: Date.now() + 30_000 };
    const source = { address: null, userAgent: null };
    const actor = { organizationId: organization, userId: 'ada' };
    const input = { name: 'doctor', scopes: ['tickets:note:write' as const] };
    const { value } = await createApiKey({ ...ctx, actor, source }, name, input);
    const proxy = await serve(name, `${name}-agents`, (_, pass) => pass());
    proxies.push(proxy);
    return {
      ...{ name, url: proxy.url, key: value, organization, db },
      behind: (intercept, use) => during(serve(name, `${name}-agents`, intercept), use),
    };
  };
  const deployments = [await deploy('eu'), await deploy('us')] as const;
  await copyToOlderSchema(deployments[0].db, await miniflare.getD1Database('DB', 'old'));
  return {
    deployments,
    withOtherAgents: (name, use) =>
      during(
        serve('eu', name, (_, pass) => pass()),
        use,
      ),
    close: async () => {
      for (const { close } of proxies) await close();
      await miniflare.dispose();
    },
  };
}

/** Copies a database into one that lacks a table, as before the migration that added it. */
async function copyToOlderSchema(from: D1Database, to: D1Database): Promise<void> {
  await migrate(to);
  for (const table of ['organizations', 'users', 'companies', 'agreements', 'tickets', 'api_keys']) {
    const { results } = await from.prepare(`select * from ${table}`).all();
    for (const row of results) {
      const columns = Object.keys(row);
      const values = `${columns.join(', ')}) values (${columns.map(() => '?').join(', ')}`;
      await to
        .prepare(`insert into ${table} (${values})`)
        .bind(...Object.values(row))
        .run();
    }
  }
  await to.exec('drop table key_days');
}

/** Static files do not reach the Worker. */
const staticFile = (content = '') =>
  new Response(content, {
    headers: { 'Content-Security-Policy': "default-src 'none'", 'X-Content-Type-Options': 'nosniff' },
  });

const forward = (origin: string, { method, path, headers, body }: Incoming) =>
  fetch(origin + path, { method, headers, redirect: 'manual', ...(body === '' ? {} : { body }) });
