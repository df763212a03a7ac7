import { hashKey } from '../domain/api-key.ts';
import { findKey } from '../services/keys/find-key.ts';
import type { AdminContext } from '../services/service-context.ts';
import { createTimeEntry } from '../services/work/create-record.ts';

const TESS = { userEmail: 'tess@northwind.example', billable: true };

/** Time to approve with its tickets. */
const DEMO_TIME = [
  ['1001', { ...TESS, minutes: 45, description: 'Replaced the toner, and reset the print queue' }],
  ['1002', { ...TESS, minutes: 540, description: 'Restored the file server from the backup of last night' }],
  ['1002', { minutes: 15, description: 'Tested the backup', billable: true }],
  ['1002', { minutes: 15, description: 'Tested the backup', billable: true }],
  ['1003', { ...TESS, minutes: 20, description: 'Updated the inventory', billable: false }],
] as const;

/** Logs the demo time with a key, once: at a later start it is there. */
export async function logDemoTime(ctx: AdminContext, value: string): Promise<void> {
  const key = await findKey(ctx, await hashKey(value));
  if (!key) throw new Error('the demo key was not found');
  const unlimited = { dayLimits: { key: null, organization: null }, onDecided: () => {}, onKeyDay: () => {} };
  for (const [index, [ticketId, body]] of DEMO_TIME.entries()) {
    const target = { ticketId, idempotencyKey: `demo:${index}` };
    await createTimeEntry({ ...ctx, ...unlimited, actor: key }, target, body);
  }
}
