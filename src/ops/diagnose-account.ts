import * as z from 'zod';
import { ACCESS_NOT_ENABLED, ApiError, type CloudflareApi, cloudflareApi, resultOf } from './cloudflare-api.ts';
import type { Deployment } from './deployment.ts';
import { check, Failure, type Finding } from './probe.ts';

/** Checks what only Cloudflare's API shows. */
export async function* diagnoseAccount(deployment: Deployment): AsyncGenerator<Finding> {
  const api = cloudflareApi(deployment.account);
  yield await check('read replication', async () => {
    const database = await resultOf(api, `/d1/database/${deployment.database}`, databaseShape);
    const trip = 'one trip to the database for each write whose key is not cached';
    return database.read_replication?.mode === 'auto'
      ? `on: saves ${trip}`
      : `off: would save ${trip}. See "Read replicas" in src/ops/deploy.md`;
  });
  yield await check('Cloudflare Access', async () => {
    try {
      const denial = denialOf(await accessOf(api), deployment.zone);
      if (denial !== undefined) throw new Failure(denial);
      return 'lets requests pass that no application covers';
    } catch (err) {
      if (!(err instanceof ApiError && err.failure.permission)) throw err;
      return `its setting deny_unmatched_requests was not read: the token lacks ${err.failure.permission}`;
    }
  });
}

const accessShape = z.object({
  auth_domain: z.string(),
  deny_unmatched_requests: z.boolean().nullish(),
  deny_unmatched_requests_exempted_zone_names: z.array(z.string()).nullish(),
});
type Access = z.output<typeof accessShape>;

/** The settings of Access; undefined while Zero Trust is not enabled. */
export const accessOf = (api: CloudflareApi) => resultOf(api, '/access/organizations', accessShape).catch(notEnabled);

/** For `catch`: undefined while Zero Trust is not enabled. */
export function notEnabled(err: unknown): undefined {
  if (!(err instanceof ApiError && err.failure.code === ACCESS_NOT_ENABLED)) throw err;
}

/** Why Access refuses automations in a zone, if it does. */
export function denialOf(access: Access | undefined, zone: string): string | undefined {
  if (!access?.deny_unmatched_requests) return undefined;
  if (access.deny_unmatched_requests_exempted_zone_names?.includes(zone)) return undefined;
  return `Access refuses requests that no application covers (deny_unmatched_requests), so automations cannot reach the API. In the settings of Zero Trust, exempt the zone ${zone}.`;
}

const databaseShape = z.object({ read_replication: z.object({ mode: z.string() }).nullish() });
