import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { unstable_readConfig } from 'wrangler';
import { freePort } from './server.ts';

const run = promisify(execFile);

/** What production-server.ts is told. */
export interface ProductionOptions {
  /** Where the bundle is. */
  bundle: string;
  /** Where the data are, as `--persist-to` has it. */
  persistTo: string;
  port: number;
  compatibilityDate: string;
  databaseId: string;
  vars: Record<string, string>;
}

/** The production bundle, served by workerd alone on a port and data that stay the same however often it ends and is started again. */
export interface Production {
  readonly url: URL;
  /** Of the process group that workerd is in. */
  readonly groupId: number;
  /** Starts the server; resolves once it answers. */
  start(): Promise<void>;
  /** Ends server and workerd at once, by SIGKILL, in the middle of whatever they do. */
  kill(): Promise<void>;
  /** Ends them in peace. */
  stop(): Promise<void>;
}

/** Bundles the Worker as a deployment does. `vars` replace some of those in wrangler.toml; `persistTo` is a migrated database. */
export async function production(persistTo: string, vars: Record<string, string>): Promise<Production> {
  const bundle = join(persistTo, 'bundle');
  await run('wrangler', ['deploy', '--dry-run', '--outdir', bundle], { env: { ...process.env, WRANGLER_SEND_METRICS: 'false' } });
  const config = unstable_readConfig({ config: 'wrangler.toml' });
  const port = await freePort();
  const options: ProductionOptions = {
    bundle,
    persistTo,
    port,
    compatibilityDate: config.compatibility_date ?? '',
    databaseId: config.d1_databases[0]?.database_id ?? '',
    vars: { ...config.vars, ...vars },
  };

  let groupId = 0;
  let ended: Promise<void> = Promise.resolve();
  const signal = (name: NodeJS.Signals) => {
    if (groupId !== 0) process.kill(-groupId, name);
  };
  const end = (name: NodeJS.Signals) => {
    signal(name);
    return ended;
  };
  // The group is not the terminal's: whatever ends this process would leave it behind.
  process.once('exit', () => signal('SIGKILL'));

  return {
    url: new URL(`http://127.0.0.1:${port}`),
    get groupId() {
      return groupId;
    },
    start: async () => {
      const script = join(import.meta.dirname, 'production-server.ts');
      // A group of its own, so that workerd can be killed with it.
      const child = spawn(process.execPath, [script, JSON.stringify(options)], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
      groupId = child.pid ?? 0;
      ended = once(child, 'close').then(() => {
        groupId = 0;
      });
      const ready = once(createInterface(child.stdout), 'line');
      const [line] = await Promise.race([ready, ended.then(() => ['nothing, and ended'])]);
      if (line !== 'ready') throw new Error(`production-server.ts said: ${line}`);
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}
