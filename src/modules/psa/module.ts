import { reader } from '../../config.ts';
import { parseWebhookSecrets } from '../../domain/webhook.ts';
import type { Module } from '../../module.ts';
import { createPsa } from './routes.ts';

/** The PSA's interface over HTTP. Without PSA_SECRET, /psa does not exist. */
export const psa: Module = {
  name: 'psa',
  start: (bindings) => {
    const secrets = reader(bindings)('PSA_SECRET', parseWebhookSecrets);
    if (secrets.length === 0) return undefined;
    return { routes: { path: '/psa', app: createPsa(secrets) } };
  },
};
