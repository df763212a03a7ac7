import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { Connection } from './connection.ts';
import { workerdProcesses } from './processor-time.ts';
import { postTimeEntry } from './scenarios.ts';
import { makeKeys, prepare } from './seed.ts';
import { type Spread, spread } from './statistics.ts';
import { type Bundle, instanceOptions } from './workers.ts';

/** What the first request of a new isolate costs. */
export interface FirstRequest {
  name: string;
  /** Processor time of workerd until the response, in milliseconds, more than that of the empty Worker. */
  cpu: Spread;
}

/** The Worker without any work, whose cost is that of starting workerd. */
const EMPTY = 'workerd, "ok"';

/**
 * Starts a workerd with one Worker and a database `rounds` times for each bundle, in turn, sends it a
 * time entry, and measures its processor time until the response.
 */
export async function timeFirstRequests(
  directory: string,
  bundles: ReadonlyMap<string, Bundle>,
  rounds: number,
): Promise<FirstRequest[]> {
  const options = (bundle: Bundle) => instanceOptions(join(directory, 'first-requests'), bundle);
  const empty = bundles.get(EMPTY);
  if (!empty) throw new Error('the empty Worker is missing');
  const first = new Miniflare(options(empty));
  const db = await first.getD1Database('DB');
  await prepare(db);
  const [key] = await makeKeys(db, 1);
  await first.dispose();
  if (!key) throw new Error('no key was made');

  const measured = new Map([...bundles.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, bundle] of bundles) {
      const ms = await startOnce(options(bundle), postTimeEntry(round, key.value, crypto.randomUUID()));
      // The first round warms up the machine.
      if (round > 0) measured.get(name)?.push(ms);
    }
  }
  const base = spread(measured.get(EMPTY) ?? []).median;
  return [...measured].map(([name, times]) => ({ name, cpu: spread(times.map((ms) => ms - base)) }));
}

async function startOnce(options: ReturnType<typeof instanceOptions>, request: string): Promise<number> {
  const others = await workerdProcesses();
  const miniflare = new Miniflare(options);
  try {
    const connection = await Connection.open(await miniflare.unsafeGetDirectURL());
    const { status } = await connection.send(request);
    connection.close();
    if (status !== 200 && status !== 201) throw new Error(`the first request got ${status}`);
    const own = (await workerdProcesses()).filter((pid) => !others.includes(pid));
    const times = await Promise.all(own.map(scheduledMs));
    return times.reduce((sum, ms) => sum + ms, 0);
  } finally {
    await miniflare.dispose();
  }
}

/** The time that the threads of a process have run, in milliseconds: finer than the ticks of `stat`. */
async function scheduledMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
  return (await Promise.all(times)).reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e6, 0);
}
