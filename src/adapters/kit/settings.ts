import * as z from 'zod';
import { directoryId } from '../../domain/directory.ts';
import { parseSecureUrl } from '../../lib/loopback.ts';
import type { Psa } from './psa.ts';

/** The variables of every adapter. `ops/adapters.ts` renders them from the file of the deployment. */
export const COMMON_VARIABLES = z.object({
  ORGANIZATION: directoryId('the organization'),
  ORGANIZATION_NAME: z.string().min(1),
  TIME_ZONE: z.string().min(1),
  DEFAULT_HOURLY_RATE: z.coerce.number().nonnegative(),
  /** The ticket of the connection test. */
  TEST_TICKET: directoryId('the ticket of the connection test'),
  /** A new text resumes the adapter. */
  RESUME: z.string().default(''),
});
export type Settings = z.output<typeof COMMON_VARIABLES>;

/** The address of a PSA without a slash at its end. The keys go to it, and paths are appended to it. */
export const psaUrl = () =>
  z.string().transform((text, context) => {
    try {
      const url = parseSecureUrl(text, 'the keys of the PSA are secrets');
      if (!/[?#]/.test(text)) return url.href.replace(/\/$/, '');
      context.addIssue('its value has a query or a fragment');
    } catch (err) {
      if (!(err instanceof RangeError)) throw err;
      context.addIssue(err.message);
    }
    return z.NEVER;
  });

/** Who decides whether a billable time entry is billed. One that is not billable stays so. */
export const billing = () => z.enum(['request', 'psa']).default('request');

/** One PSA: its own variables and secrets, and the mapping that they make. */
export interface AdapterDefinition {
  variables: z.ZodObject;
  secrets: z.ZodObject;
  /** @throws ZodError naming each variable that is wrong */
  psa: (env: object, settings: Pick<Settings, 'TIME_ZONE'>) => Psa;
}
