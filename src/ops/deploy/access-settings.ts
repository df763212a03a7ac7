import * as z from 'zod';
import { ACCESS_NOT_ENABLED, ApiError, type CloudflareApi, resultOf } from '../cloudflare-api.ts';

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
