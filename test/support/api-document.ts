import { describeApi } from '../../src/docs/api-openapi.ts';

const limit = { quota: 1, windowMs: 1_000 };

/** The OpenAPI document of the API for some deployment. */
export const API = describeApi(
  { keyPrefix: 'twb', ipLimit: limit, keyLimit: limit, dayLimits: { key: null, organization: null } },
  'https://tickets.example',
);
