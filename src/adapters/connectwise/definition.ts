import * as z from 'zod';
import { type AdapterDefinition, billing, psaUrl } from '../kit/settings.ts';
import { connectWise } from './connectwise.ts';

const variables = z.object({
  CW_URL: psaUrl().refine((url) => new URL(url).pathname === '/', 'its value has a path: name the site only'),
  CW_COMPANY: z.string().min(1),
  CW_CLIENT_ID: z.guid(),
  CW_AUTOMATION_MEMBER: z.string().min(1),
  CW_WORK_TYPE: z.string().optional(),
  CW_WORK_ROLE: z.string().optional(),
  BILLABLE: billing(),
});
const secrets = z.object({ CW_PUBLIC_KEY: z.string().min(1), CW_PRIVATE_KEY: z.string().min(1) });

export const definition: AdapterDefinition = {
  variables,
  secrets,
  psa: (env, { TIME_ZONE: timeZone }) => {
    const settings = { ...variables.parse(env), ...secrets.parse(env) };
    return connectWise({
      timeZone,
      url: settings.CW_URL,
      company: settings.CW_COMPANY,
      publicKey: settings.CW_PUBLIC_KEY,
      privateKey: settings.CW_PRIVATE_KEY,
      clientId: settings.CW_CLIENT_ID,
      automationMember: settings.CW_AUTOMATION_MEMBER,
      workType: settings.CW_WORK_TYPE,
      workRole: settings.CW_WORK_ROLE,
      billable: settings.BILLABLE === 'psa' ? undefined : 'Billable',
    });
  },
};
