import type { Module } from '../../module.ts';
import { countWaiting, TIME_WAITING } from './approval-statements.ts';
import { time } from './routes.tsx';
import { passDecided } from './time-queue.ts';

/** Administrators approve the time that keys logged. */
export const approvals: Module = {
  name: 'approvals',
  start: () => ({
    settings: time,
    tab: { title: 'Time', path: '/time', waiting: countWaiting },
    facts: [TIME_WAITING],
    jobs: [{ name: 'approvals', cron: 'hourly', run: (ctx) => passDecided(ctx) }],
  }),
};
