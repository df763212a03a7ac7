import { parseWebhookSecrets } from '../../domain/webhook.ts';
import { secretsIn } from '../../ops/input.ts';
import type { OpsModule } from '../../ops/module.ts';
import { diagnosePsa } from './diagnose-psa.ts';

export const psaOps: OpsModule = {
  secrets: { PSA_SECRET: parseWebhookSecrets },
  checks: [
    {
      flag: '--psa',
      description: 'Also send signed messages to /psa. Needs PSA_SECRET in the environment.',
      prepare: () => {
        const secrets = secretsIn('PSA_SECRET', '--psa');
        return (origin) => diagnosePsa(origin, secrets);
      },
    },
  ],
};
