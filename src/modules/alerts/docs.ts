import { withIncludes } from '../../docs/blocks.ts';
import type { DocsOfFacts } from '../../docs/module.ts';
import { messageType } from './alert.ts';
import { alertWebhook } from './docs/alert-webhook.ts';
import alerts from './docs/alerts.md?raw';
import { FACT_MEANINGS } from './docs/fact-meanings.ts';

export const alertsDocs: DocsOfFacts = (ofModules) => {
  const facts = Object.entries({ ...FACT_MEANINGS, ...ofModules }).map(([type, meaning]) => ({ type, meaning }));
  const rows = facts.map(({ type, meaning }) => `| \`${messageType(type)}\` | ${meaning} |`).join('\n');
  return {
    sections: { alerts: withIncludes(alerts, { 'alert-types': rows }) },
    messages: {
      tag: { name: 'Alerts', description: 'Optional. Answer 2xx to ignore.' },
      webhooks: Object.fromEntries(facts.map(({ type, meaning }) => [messageType(type), alertWebhook(type, meaning)])),
    },
  };
};
