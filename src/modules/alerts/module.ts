import { reader } from '../../config.ts';
import { parseAlertUrl } from '../../domain/webhook.ts';
import type { Module } from '../../module.ts';
import { findDailyAlerts, sendUrgentAlerts } from './run.ts';

/** Tells the receiver of the push and the address in ALERT_URL what needs attention. */
export const alerts: Module = {
  name: 'alerts',
  start: (bindings, coreConfig) => {
    const config = { ...coreConfig, alertUrl: reader(bindings)('ALERT_URL', parseAlertUrl) };
    return {
      jobs: [
        { name: 'urgent alerts', cron: 'frequent', run: (context) => sendUrgentAlerts(config, context) },
        { name: 'daily alerts', cron: 'daily', run: (context) => findDailyAlerts(config, context) },
      ],
    };
  },
};
