import type { DirectoryRecordInput, DirectoryType } from '../../domain/directory.ts';
import type { ListedRecords } from '../../domain/psa-shapes.ts';
import { type Context, unwrap } from './context.ts';
import type { DirectoryItem } from './psa.ts';

/** As many as one call takes. */
const MAX_RECORDS = 1_000;
/** A list with fewer records may lose more than half of them. */
const SMALL = 20;

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
  await upsert(ctx, [organization]);
  await takeOver(ctx, [items], ['agreement', 'user', 'company']);
}

/** Takes records over, in pages. Of the types that are complete, what the PSA no longer has becomes inactive. */
export async function takeOver(
  ctx: Context,
  pages: AsyncIterable<DirectoryItem[]> | DirectoryItem[][],
  complete: readonly Exclude<DirectoryType, 'organization'>[],
): Promise<void> {
  const kept = new Set<string>();
  for await (const page of pages) {
    for (const { type, id } of page) kept.add(`${type} ${id}`);
    const records = page.map((item) => ({ ...item, organization: ctx.settings.ORGANIZATION }));
    for (let at = 0; at < records.length; at += MAX_RECORDS) await upsert(ctx, records.slice(at, at + MAX_RECORDS));
  }
  for (const type of complete) await deactivateOthers(ctx, type, kept);
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
  kept: ReadonlySet<string>,
): Promise<void> {
  const active: { type: typeof type; id: string }[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const page: ListedRecords = unwrap(await service.list(type, cursor));
    for (const { id, active: isActive, service: isService } of page.records)
      if (isActive && !isService) active.push({ type, id: String(id) });
    ({ cursor, more } = page);
  }
  const gone = active.filter(({ id }) => !kept.has(`${type} ${id}`));
  if (!kv.get('mayShrink') && active.length >= SMALL && gone.length > active.length / 2)
    throw new Error(
      `The PSA no longer lists ${gone.length} of ${active.length} records of type ${type}. Check the rights of the account; resume the adapter if they are really gone.`,
    );
  for (let at = 0; at < gone.length; at += MAX_RECORDS)
    unwrap(await service.deactivate(gone.slice(at, at + MAX_RECORDS)));
}
