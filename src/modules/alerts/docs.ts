import { withIncludes } from '../../docs/blocks.ts';
import type { DocsModule } from '../../docs/module.ts';
import { FACT_TYPES } from '../../domain/facts.ts';
import { messageType } from './alert.ts';
import { alertWebhooks } from './docs/alert-webhooks.ts';
import alerts from './docs/alerts.md?raw';
import { FACT_MEANINGS } from './docs/fact-meanings.ts';

const rows = FACT_TYPES.map((type) => `| \`${messageType(type)}\` | ${FACT_MEANINGS[type]} |`).join('\n');

export const alertsDocs: DocsModule = {
  sections: { alerts: withIncludes(alerts, { 'alert-types': rows }) },
  messages: { tag: { name: 'Alerts', description: 'Optional. Answer 2xx to ignore.' }, webhooks: alertWebhooks },
};
