import type { DocsModule } from '../../docs/module.ts';
import { alertWebhook } from './docs/alert-webhook.ts';
import alerts from './docs/alerts.md?raw';

export const alertsDocs: DocsModule = {
  sections: { alerts },
  messages: {
    tag: { name: 'Alerts', description: 'Optional. Answer 2xx to ignore.' },
    webhooks: { alert: alertWebhook },
  },
};
