import type { PostOutcome } from '../../domain/post-outcome.ts';
import type { WebhookSecret } from '../../domain/webhook.ts';
import { deliver, post } from '../../services/post.ts';
import type { WaitingNotice } from './alert-statements.ts';
import { messageType, type Notice, type NoticeChannel, settingsUrl } from './notice.ts';
import { noticeText } from './notice-text.ts';

/** Where notices are sent. */
export interface NoticeTargets {
  /** The receiver of the push. */
  push?: { url: string; secrets: readonly WebhookSecret[] } | undefined;
  /** An address that takes `{text}`. */
  chat?: string | undefined;
  /** The origin of this service, for links to the settings area. */
  serviceUrl?: string | undefined;
}

/** How notices are sent on one channel. */
export interface Outlet {
  channel: NoticeChannel;
  /** How many notices of an organization one message has, at most. */
  size: number;
  /** Posts one message. */
  send: (notices: readonly WaitingNotice[]) => Promise<PostOutcome>;
}

const MAX_LINES = 20;

/** The channels that have an address. */
export function outletsOf({ push, chat, serviceUrl }: NoticeTargets): Outlet[] {
  const outlets: Outlet[] = [];
  const urlOf = (notice: Notice) => (serviceUrl === undefined ? null : settingsUrl(notice, serviceUrl));
  if (push)
    outlets.push({
      channel: 'push',
      size: 1,
      send: ([waiting]) => {
        if (!waiting) throw new RangeError('a message without a notice is not sent');
        const { type, data } = toNotice(waiting);
        const message = {
          type: messageType(type),
          timestamp: new Date(waiting.at).toISOString(),
          data: { ...data, settingsUrl: urlOf(toNotice(waiting)) },
        };
        return deliver(push, { id: waiting.id, at: Date.now(), body: JSON.stringify(message) });
      },
    });
  if (chat !== undefined)
    outlets.push({
      channel: 'chat',
      size: MAX_LINES,
      send: (waiting) => {
        const lines = waiting.map(toNotice).map((notice) => [noticeText(notice), urlOf(notice) ?? ''].join(' ').trim());
        return post(chat, JSON.stringify({ text: lines.join('\n') }));
      },
    });
  return outlets;
}

const toNotice = ({ type, data }: WaitingNotice): Notice => ({ type, data: JSON.parse(data) });
