import { readFile } from 'node:fs/promises';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { migrate } from '../../../../src/dev/migrate.ts';
import { importDirectory } from '../../../../src/ops/import/import-directory.ts';
import { wranglerConfig } from '../../../../src/ops/wrangler-config.ts';
import { createApiKey } from '../../../../src/services/keys/create-key.ts';
import { readBundle } from '../../../support/production-worker.ts';
import { type Incoming, serveProxy } from '../../../support/proxy.ts';
import { productionBundle } from '../../../support/shared.ts';

/** A deployment: its two Workers behind one address, as a zone's routes serve them. */
export interface LocalDeployment {
  name: 'eu' | 'us';
  url: string;
  /** A key of an organization that only this deployment has. */
  key: string;
  organization: string;
  db: D1Database;
}

/** Two deployments in one runtime, each with its own database, objects and key prefix. */
export async function startTwoDeployments(): Promise<{
  deployments: readonly [LocalDeployment, LocalDeployment];
  close: () => Promise<void>;
}> {
  const main = await readBundle(await productionBundle());
  const agents = await readBundle(await productionBundle('agents'));
  const worker = ({ script, texts }: typeof main, name: string, database: string) => ({
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...texts],
    compatibilityDate: wranglerConfig.compatibility_date,
    bindings: { KEY_PREFIX: database, KEY_LIMIT: '200/10s' },
    d1Databases: { DB: database },
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  });
  const own = (className: string) => ({ className, useSQLite: true });
  const of = (className: string, scriptName: string) => ({ ...own(className), scriptName });
  const mainWorker = (name: string) => ({
    ...worker(main, name, name),
    durableObjects: { RATE_LIMITER: own('RateLimiter'), PUSHER: own('Pusher') },
  });
  const agentsWorker = (name: string) => ({
    ...worker(agents, `${name}-agents`, name),
    durableObjects: { RATE_LIMITER: of('RateLimiter', name), PUSHER: of('Pusher', name) },
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      unsafeEphemeralDurableObjects: true,
      cf: false,
      handleStructuredLogs: () => undefined,
      workers: ['eu', 'us'].flatMap((name) => [mainWorker(name), agentsWorker(name)]),
    }),
  );
  await miniflare.ready;
  const origin = async (name: string) => (await miniflare.unsafeGetDirectURL(name)).origin;

  const proxies: { close: () => Promise<void> }[] = [];
  const serve = async (name: 'eu' | 'us') => {
    const agentsUrl = await origin(`${name}-agents`);
    const proxy = await serveProxy(await origin(name), (incoming, pass) => {
      if (incoming.path === '/docs') return staticFile();
      if (incoming.path === '/api/v1/openapi.json') return staticFile('{"openapi":"3.1.0"}');
      return incoming.path === '/mcp' ? forward(agentsUrl, incoming) : pass();
    });
    proxies.push(proxy);
    return proxy.url;
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
    return { name, url: await serve(name), key: value, organization, db };
  };
  const deployments = [await deploy('eu'), await deploy('us')] as const;
  return {
    deployments,
    close: async () => {
      for (const { close } of proxies) await close();
      await miniflare.dispose();
    },
  };
}

/** Static files do not reach the Worker. */
const staticFile = (content = '') =>
  new Response(content, {
    headers: { 'Content-Security-Policy': "default-src 'none'", 'X-Content-Type-Options': 'nosniff' },
  });

const forward = (origin: string, { method, path, headers, body }: Incoming) =>
  fetch(origin + path, { method, headers, redirect: 'manual', ...(body === '' ? {} : { body }) });
