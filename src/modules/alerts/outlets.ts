import type { Config } from '../../config.ts';
import { instant } from '../../domain/change.ts';
import type { FoundFact } from '../../domain/facts.ts';
import type { PostOutcome } from '../../domain/post-outcome.ts';
import { log } from '../../lib/log.ts';
import { deliver, post } from '../../services/post.ts';
import { type AlertChannel, alertData, messageType } from './alert.ts';
import type { DueAlert } from './alert-statements.ts';

export type AlertConfig = Pick<Config, 'receiver' | 'serviceUrl' | 'dayLimits'> & {
  /** Where alerts are posted to as `{text}`. */
  alertUrl?: string | undefined;
};

export interface Outlet {
  channel: AlertChannel;
  /** How many alerts of an organization one message has, at most. */
  size: number;
  /** The message about a fact that was found at this time, as it is stored until it is sent. */
  write: (fact: FoundFact, foundAt: number) => object;
  send: (alerts: readonly DueAlert[]) => Promise<PostOutcome>;
}

const MAX_LINES = 20;

/** The channels that have a URL, or the log if none has. */
export function outletsOf({ receiver, alertUrl, serviceUrl }: AlertConfig): readonly Outlet[] {
  const outlets: Outlet[] = [];
  if (receiver)
    outlets.push({
      channel: 'push',
      size: 1,
      write: (fact, foundAt) => ({
        type: messageType(fact.type),
        timestamp: instant(foundAt),
        data: alertData(fact, serviceUrl),
      }),
      send: ([alert]) => {
        if (!alert) throw new RangeError('a message without an alert is not sent');
        return deliver(receiver, { id: alert.id, at: Date.now(), body: alert.message });
      },
    });
  if (alertUrl !== undefined)
    outlets.push({
      channel: 'chat',
      size: MAX_LINES,
      write: (fact) => {
        const { organization, text, settingsUrl } = alertData(fact, serviceUrl);
        const line = organization === null ? text : `${organization}: ${text}`;
        return { text: settingsUrl === null ? line : `${line} ${settingsUrl}` };
      },
      send: (alerts) => post(alertUrl, JSON.stringify({ text: alerts.map(({ text }) => text).join('\n') })),
    });
  return outlets.length > 0 ? outlets : [LOG];
}

const LOG: Outlet = {
  channel: 'log',
  size: 1,
  write: (fact) => ({ text: `${fact.kind.sentence(fact)} ${fact.kind.advice}` }),
  send: async (alerts) => {
    for (const { type, organizationId, text } of alerts)
      log('error', 'alert', { type, organization: organizationId || undefined, text });
    return { result: 'confirmed' };
  },
};
