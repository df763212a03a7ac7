import * as z from 'zod';
import { type AdapterDefinition, psaUrl } from '../kit/settings.ts';
import { redmine } from './redmine.ts';

const number = () => z.coerce.number().int().positive();

const variables = z.object({
  REDMINE_URL: psaUrl(),
  REDMINE_ACTIVITY: number(),
  REDMINE_BILLABLE_FIELD: number().optional(),
  REDMINE_REVIEW_FIELD: number().optional(),
  REDMINE_REVIEWER_FIELD: number().optional(),
});
const secrets = z.object({ REDMINE_KEY: z.string().min(1), REDMINE_ADMIN_KEY: z.string().min(1) });

export const definition: AdapterDefinition = {
  variables,
  secrets,
  psa: (env) => {
    const settings = { ...variables.parse(env), ...secrets.parse(env) };
    return redmine({
      url: settings.REDMINE_URL,
      key: settings.REDMINE_KEY,
      adminKey: settings.REDMINE_ADMIN_KEY,
      activity: settings.REDMINE_ACTIVITY,
      billableField: settings.REDMINE_BILLABLE_FIELD,
      reviewField: settings.REDMINE_REVIEW_FIELD,
      reviewerField: settings.REDMINE_REVIEWER_FIELD,
    });
  },
};
