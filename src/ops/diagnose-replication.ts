import * as z from 'zod';
import { generateKey } from '../domain/api-key.ts';
import { check, type Finding, sendProbe } from './probe.ts';
import type { RemoteTarget } from './remote-d1.ts';

const databaseShape = z.object({
  success: z.literal(true),
  result: z.object({ read_replication: z.object({ mode: z.string() }).nullish() }),
});

/** Whether a deployed database has read replicas: GET /accounts/{account}/d1/database/{database}. */
async function hasReplicas({ baseUrl, accountId, databaseId, apiToken, pace }: RemoteTarget): Promise<boolean> {
  await pace.wait();
  const response = await fetch(`${baseUrl}/accounts/${accountId}/d1/database/${databaseId}`, {
    headers: { Authorization: `Bearer ${apiToken}` },
  });
  const found = databaseShape.safeParse(await response.json().catch(() => undefined));
  if (found.success) return found.data.result.read_replication?.mode === 'auto';
  throw new Error(`Cloudflare's API responded with ${response.status} for the database ${databaseId}`);
}

/** How often each of two requests is sent; the fastest of each counts. */
const SAMPLES = 5;

/**
 * How long a Worker near this machine waits for one read of the primary, in milliseconds: a ping with
 * an unknown key reads from it, a ping with a malformed key does not.
 */
async function tripToPrimary(origin: string, keyPrefix: string, send: typeof fetch): Promise<number> {
  const ping = async (value: string) => {
    const headers = { Authorization: `Bearer ${value}` };
    return (await sendProbe(send, `${origin}/api/v1/ping`, { headers })).ms;
  };
  const times: { malformed: number; unknown: number }[] = [];
  for (let sample = 0; sample < SAMPLES; sample++)
    times.push({ malformed: await ping(`${keyPrefix}_no`), unknown: await ping(generateKey(keyPrefix)) });
  const fastest = (what: 'malformed' | 'unknown') => Math.min(...times.map((time) => time[what]));
  return Math.max(0, fastest('unknown') - fastest('malformed'));
}

/** Says whether the database has read replicas, and what they save or would save callers near this machine. */
export async function* diagnoseReplication(
  target: RemoteTarget,
  { origin, keyPrefix }: { origin: string; keyPrefix: string },
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  yield await check('read replication', async () => {
    const isOn = await hasReplicas(target);
    const trip = `one trip to the database, ${await tripToPrimary(origin, keyPrefix, send)} ms from here`;
    return isOn
      ? `on: saves ${trip}, for each write whose key is not cached`
      : `off: would save ${trip}, for each write whose key is not cached. See "Read replicas" in src/ops/deploy.md`;
  });
}
