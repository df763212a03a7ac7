import { reader } from '../../config.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { parseNoticeUrl } from '../../domain/webhook.ts';
import type { Module } from '../../module.ts';
import { logUnfinished } from '../../services/in-chunks.ts';
import { forgetOldNotices } from './forget-old-notices.ts';
import { notices } from './run.ts';

/** The deadline of a D1 call of the daily job. */
const DEADLINE_MS = 30_000;

/** Tells the receiver of the push and the address in NOTICE_URL what needs attention. */
export const alerts: Module = {
  name: 'alerts',
  start: (bindings, config) => {
    const noticeUrl = reader(bindings)('NOTICE_URL', parseNoticeUrl);
    return {
      jobs: [
        { name: 'notices', cron: 'sweep', run: ({ db, now }) => notices(db, { ...config, noticeUrl }, now) },
        {
          name: 'old notices',
          cron: 'daily',
          run: ({ db, now }) => {
            const ctx = { db, now, deadlineAt: Date.now() + DEADLINE_MS, requestId: timeOrderedId(now()) };
            return logUnfinished('notices', forgetOldNotices(ctx));
          },
        },
      ],
    };
  },
};
