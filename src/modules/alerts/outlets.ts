import type { Config } from '../../config.ts';
import { instant } from '../../domain/change.ts';
import type { PostOutcome } from '../../domain/post-outcome.ts';
import { deliver, post } from '../../services/post.ts';
import type { DueAlert } from './alert-statements.ts';

export type AlertConfig = Pick<Config, 'receiver' | 'serviceUrl' | 'dayLimits'> &
  Partial<Pick<Config, 'keepDays'>> & {
    /** Where alerts are posted to as `{text}`. */
    alertUrl?: string | undefined;
  };

export interface Outlet {
  name: 'receiver' | 'chat';
  /** The field that is 1 while an alert has to be sent here. */
  unsent: 'toReceiver' | 'toChat';
  send: (alert: DueAlert) => Promise<PostOutcome>;
}

/** The outlets that have a URL. */
export function outletsOf({ receiver, alertUrl }: AlertConfig): readonly Outlet[] {
  const outlets: Outlet[] = [];
  if (receiver)
    outlets.push({
      name: 'receiver',
      unsent: 'toReceiver',
      send: (alert) => deliver(receiver, { id: alert.id, at: Date.now(), body: JSON.stringify(alertMessage(alert)) }),
    });
  if (alertUrl !== undefined)
    outlets.push({
      name: 'chat',
      unsent: 'toChat',
      send: ({ text }) => post(alertUrl, JSON.stringify({ text })),
    });
  return outlets;
}

/** The message for the receiver of the push. */
export const alertMessage = ({
  organizationId,
  foundAt,
  text,
}: Pick<DueAlert, 'organizationId' | 'foundAt' | 'text'>) => ({
  type: 'alert' as const,
  timestamp: instant(foundAt),
  data: {
    /** Null for an alert about the whole deployment. */
    organization: organizationId === '' ? null : organizationId,
    text,
  },
});
export type AlertMessage = ReturnType<typeof alertMessage>;
