import type { DirectoryRecordInput, DirectoryType } from '../../domain/directory.ts';
import type { ListedRecords } from '../../domain/psa-shapes.ts';
import { type Context, type TicketList, unwrap } from './context.ts';
import type { DirectoryItem } from './psa.ts';

/** As many as one call takes. */
const MAX_RECORDS = 1_000;
/** A list with fewer records may lose more than half of them. */
const SMALL = 20;
/** For how long the list of all tickets is read before whatever else is due. */
const STEP_MS = 2_000;

/** Takes the organization, users, companies and agreements over. @throws PsaFault, Error */
export async function takePeople(ctx: Context): Promise<void> {
  const { settings, psa, send } = ctx;
  const organization: DirectoryRecordInput = {
    type: 'organization',
    id: settings.ORGANIZATION,
    name: settings.ORGANIZATION_NAME,
    psa: true,
    timeZone: settings.TIME_ZONE,
    defaultHourlyRate: settings.DEFAULT_HOURLY_RATE,
    approvals: psa.reviews ? 'psa' : 'settings',
  };
  const items = await psa.people(send);
  ctx.kv.put('serviceUser', items.find((item) => item.type === 'user' && item.service)?.id);
  await upsert(ctx, [organization]);
  const found = new Set<string>();
  await takeOver(ctx, [items], found);
  for (const type of ['agreement', 'user', 'company'] as const) await deactivateOthers(ctx, type, found);
}

/**
 * Continues the list of all tickets for a while. At its end, the tickets that the PSA no longer has become inactive. After a
 * failure, the list begins again. `now` is the time of the PSA's clock.
 */
export async function takeAllTickets(ctx: Context, now: Date): Promise<'unfinished' | undefined> {
  const { psa, send, kv, world, ticketList } = ctx;
  const list: TicketList = ticketList ?? {
    pages: psa.tickets(send, null, now)[Symbol.asyncIterator](),
    found: new Set(),
  };
  ctx.ticketList = undefined;
  for (const until = world.now() + STEP_MS; world.now() < until; ) {
    const page = await list.pages.next();
    if (page.done) {
      await deactivateOthers(ctx, 'ticket', list.found);
      kv.delete('mayShrink');
      return undefined;
    }
    await takeOver(ctx, [page.value], list.found);
  }
  ctx.ticketList = list;
  return 'unfinished';
}

/** Takes records over, in pages, and adds them to those that were found. */
export async function takeOver(
  ctx: Context,
  pages: AsyncIterable<DirectoryItem[]> | DirectoryItem[][],
  found = new Set<string>(),
): Promise<void> {
  for await (const page of pages) {
    for (const { type, id } of page) found.add(`${type} ${id}`);
    const records = page.map((item) => ({ ...item, organization: ctx.settings.ORGANIZATION }));
    for (let at = 0; at < records.length; at += MAX_RECORDS) await upsert(ctx, records.slice(at, at + MAX_RECORDS));
  }
}

async function upsert({ service }: Context, records: DirectoryRecordInput[]): Promise<void> {
  const { records: statuses } = unwrap(await service.upsert(records));
  const refused = statuses.flatMap((status, index) => {
    if (status.status !== 'refused') return [];
    const { type, id } = records[index] ?? {};
    return [{ type, id, errors: status.errors.map(({ pointer, code }) => `${pointer} ${code}`) }];
  });
  if (refused.length > 0)
    console.warn(JSON.stringify({ event: 'directory_refused', count: refused.length, first: refused.slice(0, 20) }));
}

/** A PSA that shows an account nothing also returns an empty list: that must not deactivate everything. */
async function deactivateOthers(
  { service, kv }: Context,
  type: Exclude<DirectoryType, 'organization'>,
  found: ReadonlySet<string>,
): Promise<void> {
  const active: { type: typeof type; id: string }[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const page: ListedRecords = unwrap(await service.list(type, cursor));
    for (const { id, active: isActive, service: isService } of page.records)
      if (isActive && !isService) active.push({ type, id: String(id) });
    ({ cursor, more } = page);
  }
  const gone = active.filter(({ id }) => !found.has(`${type} ${id}`));
  if (!kv.get('mayShrink') && active.length >= SMALL && gone.length > active.length / 2)
    throw new Error(
      `The PSA no longer lists ${gone.length} of ${active.length} records of type ${type}. Check the rights of the account; resume the adapter if they are really gone.`,
    );
  for (let at = 0; at < gone.length; at += MAX_RECORDS)
    unwrap(await service.deactivate(gone.slice(at, at + MAX_RECORDS)));
}
