import * as z from 'zod';
import { generateKey } from '../domain/api-key.ts';
import { cloudflareApi, resultOf } from './cloudflare-api.ts';
import { configOf, type Deployment } from './deployment.ts';
import { check, type Finding, sendProbe } from './probe.ts';

/** Measures what read replicas save, or would save. */
export async function* diagnoseReplicas(deployment: Deployment, origin: string): AsyncGenerator<Finding> {
  const api = cloudflareApi(deployment.account);
  yield await check('read replication', async () => {
    const database = await resultOf(api, `/d1/database/${deployment.database}`, databaseShape);
    const isOn = database.read_replication?.mode === 'auto';
    const trip = `one trip to the database, ${await tripToPrimary(origin, configOf(deployment).keyPrefix)} ms from here`;
    return isOn
      ? `on: saves ${trip}, for each write whose key is not cached`
      : `off: would save ${trip}, for each write whose key is not cached. See "Read replicas" in src/ops/deploy.md`;
  });
}

const databaseShape = z.object({ read_replication: z.object({ mode: z.string() }).nullish() });

/** How often each of two requests is sent; the fastest of each counts. */
const SAMPLES = 5;

/** In milliseconds: a ping with an unknown key reads from the primary, one with a malformed key does not. */
async function tripToPrimary(origin: string, keyPrefix: string): Promise<number> {
  const ping = async (value: string) => {
    const headers = { Authorization: `Bearer ${value}` };
    return (await sendProbe(fetch, `${origin}/api/v1/ping`, { headers })).ms;
  };
  let [malformed, unknown] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let sample = 0; sample < SAMPLES; sample++) {
    malformed = Math.min(malformed, await ping(`${keyPrefix}_no`));
    unknown = Math.min(unknown, await ping(generateKey(keyPrefix)));
  }
  return Math.max(0, unknown - malformed);
}
