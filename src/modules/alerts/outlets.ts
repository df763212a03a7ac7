import type { Config } from '../../config.ts';
import type { PostOutcome } from '../../domain/post-outcome.ts';
import { log } from '../../lib/log.ts';
import { deliver, post } from '../../services/post.ts';
import { type AlertChannel, type AlertData, alertDataShape, messageType, settingsUrl } from './alert.ts';
import type { DueAlert } from './alert-statements.ts';

export type AlertConfig = Pick<Config, 'receiver' | 'serviceUrl' | 'dayLimits'> & {
  /** Where alerts are posted to as `{text}`. */
  alertUrl?: string | undefined;
};

export interface Outlet {
  channel: AlertChannel;
  /** How many alerts of an organization one message has, at most. */
  size: number;
  send: (alerts: readonly DueAlert[]) => Promise<PostOutcome>;
}

const MAX_LINES = 20;

const dataOf = ({ data }: DueAlert): AlertData => alertDataShape.parse(JSON.parse(data));

/** The channels that have a URL, or the log if none has. */
export function outletsOf({ receiver, alertUrl, serviceUrl }: AlertConfig): readonly Outlet[] {
  const urlOf = (data: AlertData) => (serviceUrl === undefined ? null : settingsUrl(data, serviceUrl));
  const outlets: Outlet[] = [];
  if (receiver)
    outlets.push({
      channel: 'push',
      size: 1,
      send: ([alert]) => {
        if (!alert) throw new RangeError('a message without an alert is not sent');
        const data = dataOf(alert);
        const message = {
          type: messageType(alert.type),
          timestamp: new Date(alert.foundAt).toISOString(),
          data: { ...data, settingsUrl: urlOf(data) },
        };
        return deliver(receiver, { id: alert.id, at: Date.now(), body: JSON.stringify(message) });
      },
    });
  if (alertUrl !== undefined)
    outlets.push({
      channel: 'chat',
      size: MAX_LINES,
      send: (alerts) => {
        const lines = alerts.map(dataOf).map((data) => [lineOf(data), urlOf(data) ?? ''].join(' ').trim());
        return post(alertUrl, JSON.stringify({ text: lines.join('\n') }));
      },
    });
  return outlets.length > 0 ? outlets : [LOG];
}

const lineOf = ({ organization, text }: AlertData) => (organization === null ? text : `${organization}: ${text}`);

const LOG: Outlet = {
  channel: 'log',
  size: 1,
  send: async (alerts) => {
    for (const alert of alerts) {
      const { organization, text, advice } = dataOf(alert);
      log('error', 'alert', { type: alert.type, organization: organization ?? undefined, text, advice });
    }
    return { result: 'confirmed' };
  },
};
