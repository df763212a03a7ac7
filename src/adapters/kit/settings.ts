import * as z from 'zod';
import { directoryId } from '../../domain/directory.ts';
import type { Psa } from './psa.ts';

/** The variables of every adapter. `ops/adapters.ts` renders them from the file of the deployment. */
export const COMMON_VARIABLES = z.object({
  ORGANIZATION: directoryId('the organization'),
  ORGANIZATION_NAME: z.string().min(1),
  TIME_ZONE: z.string().min(1),
  DEFAULT_HOURLY_RATE: z.coerce.number().nonnegative(),
  TEST_TICKET: directoryId('the ticket of the connection test'),
  APPROVALS: z.enum(['settings', 'psa']).default('settings'),
  REVIEWER: z.string().optional(),
  RESUME: z.string().default(''),
});
type Common = z.output<typeof COMMON_VARIABLES>;

/** One PSA: its own variables and secrets, and the mapping that they make. */
export interface AdapterKind<Variables extends z.ZodObject = z.ZodObject, Secrets extends z.ZodObject = z.ZodObject> {
  variables: Variables;
  secrets: Secrets;
  psa: (settings: z.output<Variables> & z.output<Secrets>, common: Common) => Psa;
}

/** Reads the variables of a deployment. @throws Error naming each variable that is wrong */
export function readSettings<Variables extends z.ZodObject, Secrets extends z.ZodObject>(
  kind: AdapterKind<Variables, Secrets>,
  env: object,
) {
  const read = <Shape extends z.ZodObject>(shape: Shape) => {
    const result = shape.safeParse(env);
    if (result.success) return result.data;
    const faults = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new Error(`A variable of the adapter is wrong. ${faults.join('; ')}`);
  };
  const common = read(COMMON_VARIABLES);
  const {
    ORGANIZATION: id,
    ORGANIZATION_NAME: name,
    TIME_ZONE: timeZone,
    DEFAULT_HOURLY_RATE: rate,
    APPROVALS: approvals,
  } = common;
  return {
    settings: {
      organization: {
        type: 'organization' as const,
        id,
        name,
        psa: true,
        timeZone,
        defaultHourlyRate: rate,
        approvals,
      },
      testTicket: common.TEST_TICKET,
      reviewer: common.REVIEWER || undefined,
      resume: common.RESUME,
    },
    psa: kind.psa({ ...read(kind.variables), ...read(kind.secrets) }, common),
  };
}
