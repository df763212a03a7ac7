import * as z from 'zod';
import { type AdapterDefinition, billing, psaUrl } from '../kit/settings.ts';
import { halo } from './halo.ts';

const number = () => z.coerce.number().int().positive();

const variables = z
  .object({
    HALO_URL: psaUrl(),
    HALO_TENANT: z.string().optional(),
    HALO_CLIENT_ID: z.string().min(1),
    HALO_AUTOMATION_AGENT: number(),
    HALO_OUTCOME: z.string().min(1),
    BILLABLE: billing(),
    HALO_CHARGE_BILLABLE: number().optional(),
    // Halo's 0 is "No Charge".
    HALO_CHARGE_NOT_BILLABLE: z.coerce.number().int().nonnegative().default(0),
  })
  .refine(({ BILLABLE, HALO_CHARGE_BILLABLE: charge }) => BILLABLE === 'psa' || charge !== undefined, {
    ...{ path: ['HALO_CHARGE_BILLABLE'], error: 'it is required' },
  })
  // Otherwise time that is not billable would be billed.
  .refine(({ HALO_CHARGE_BILLABLE: one, HALO_CHARGE_NOT_BILLABLE: other }) => one !== other, {
    path: ['HALO_CHARGE_BILLABLE'],
    error: 'it must differ from HALO_CHARGE_NOT_BILLABLE, because the charge type decides what is billed',
  });
const secrets = z.object({ HALO_CLIENT_SECRET: z.string().min(1) });

export const definition: AdapterDefinition = {
  variables,
  secrets,
  psa: (env, { TIME_ZONE: timeZone }) => {
    const settings = { ...variables.parse(env), ...secrets.parse(env) };
    return halo({
      timeZone,
      url: settings.HALO_URL,
      tenant: settings.HALO_TENANT,
      clientId: settings.HALO_CLIENT_ID,
      clientSecret: settings.HALO_CLIENT_SECRET,
      automationAgent: settings.HALO_AUTOMATION_AGENT,
      outcome: settings.HALO_OUTCOME,
      charge: {
        billable: settings.BILLABLE === 'psa' ? undefined : settings.HALO_CHARGE_BILLABLE,
        notBillable: settings.HALO_CHARGE_NOT_BILLABLE,
      },
    });
  },
};
