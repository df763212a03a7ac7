import type { DocsModule } from '../../docs/module.ts';
import { alertWebhook } from './docs/alert-webhook.ts';
import alerts from './docs/alerts.md?raw';

export const alertsDocs: DocsModule = {
  pages: [{ path: '/docs/psa/alerts', markdown: alerts, group: 'PSA', name: 'Receive alerts', step: 9 }],
  messages: {
    tag: { name: 'Alerts', description: 'Optional. Answer 2xx to ignore.' },
    webhooks: { alert: alertWebhook },
  },
};
