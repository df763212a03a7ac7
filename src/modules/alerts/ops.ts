import { parseAlertUrl } from '../../domain/webhook.ts';
import { readAddress } from '../../ops/input.ts';
import type { OpsModule } from '../../ops/module.ts';
import { diagnoseAlerts } from './diagnose-alerts.ts';

export const alertsOps: OpsModule = {
  secrets: { ALERT_URL: parseAlertUrl },
  checks: [
    {
      flag: '--alerts',
      description: 'Also send a test text to the address in ALERT_URL in the environment.',
      unchecked:
        'Alerts are not checked. If neither ALERT_URL nor WEBHOOK_URL is set, none is sent: set ALERT_URL, and check it with --alerts.',
      prepare: () => {
        const text = process.env['ALERT_URL'] ?? '';
        const url = readAddress('ALERT_URL', text, parseAlertUrl, '--alerts needs it in the environment');
        return () => diagnoseAlerts(url);
      },
    },
  ],
};
