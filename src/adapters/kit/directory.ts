import type { DirectoryRecordInput, DirectoryType } from '../../domain/directory.ts';
import type { ListedRecords } from '../../domain/psa-shapes.ts';
import type { Connection } from '../../rpc/connection.ts';
import type { DirectoryItem, Psa, Send } from './psa.ts';

/** The methods of the entry point that an adapter is bound to. */
export type Service = Pick<
  Connection,
  'upsert' | 'list' | 'deactivate' | 'changes' | 'release' | 'report' | 'review' | 'reportConnection'
>;

/** A call of the service that failed. */
export class CallFailed extends Error {
  readonly code: string;

  constructor({ code, detail }: { code: string; detail: string }) {
    super(detail);
    this.code = code;
  }
}

type CallResult<T> = { ok: true; value: T } | { ok: false; error: { code: string; detail: string } };

/** @throws CallFailed */
export async function unwrap<T>(call: Promise<CallResult<T>>): Promise<T> {
  const result = await call;
  if (!result.ok) throw new CallFailed(result.error);
  return result.value;
}

export type Organization = Extract<DirectoryRecordInput, { type: 'organization' }>;

/** As many as one call takes. */
const MAX_RECORDS = 1_000;
/** A list with fewer records may lose more than half of them. */
const SMALL = 20;

/** Takes users, companies and agreements over. What the PSA no longer has becomes inactive. @throws PsaFault, CallFailed */
export async function takePeople(
  service: Service,
  organization: Organization,
  psa: Psa,
  send: Send,
  mayShrink: boolean,
): Promise<void> {
  const items = await psa.people(send);
  await upsert(service, [organization, ...items.map((item) => ({ ...item, organization: organization.id }))]);
  for (const type of ['agreement', 'user', 'company'] as const) {
    const kept = items.filter((item) => item.type === type).map(({ id }) => id);
    await deactivateOthers(service, type, new Set(kept), mayShrink);
  }
}

/** Takes the tickets over that changed since a time; all of them if it is null. @throws PsaFault, CallFailed */
export async function takeTickets(
  service: Service,
  organization: Organization,
  psa: Psa,
  send: Send,
  { since, now }: { since: Date | null; now: Date },
  mayShrink: boolean,
): Promise<void> {
  const kept = new Set<string>();
  for await (const page of psa.tickets(send, since, now)) {
    for (const { id } of page) kept.add(id);
    await upsert(
      service,
      page.map((item) => ({ ...item, organization: organization.id })),
    );
  }
  if (since === null) await deactivateOthers(service, 'ticket', kept, mayShrink);
}

type Item = DirectoryItem & { organization: string };

async function upsert(service: Service, records: (Organization | Item)[]): Promise<void> {
  for (let at = 0; at < records.length; at += MAX_RECORDS) {
    const slice = records.slice(at, at + MAX_RECORDS);
    const { records: statuses } = await unwrap(service.upsert(slice));
    const refused = statuses.flatMap((status, index) => {
      if (status.status !== 'refused') return [];
      const { type, id } = slice[index] ?? {};
      return [{ type, id, errors: status.errors.map(({ pointer, code }) => `${pointer} ${code}`) }];
    });
    if (refused.length > 0)
      console.warn(JSON.stringify({ event: 'directory_refused', count: refused.length, first: refused.slice(0, 20) }));
  }
}

/** A PSA that shows an account nothing also returns an empty list: that must not deactivate everything. */
async function deactivateOthers(
  service: Service,
  type: Exclude<DirectoryType, 'organization'>,
  kept: Set<string>,
  mayShrink: boolean,
): Promise<void> {
  const active: string[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const page: ListedRecords = await unwrap(service.list(type, cursor));
    for (const { id, active: isActive, service: isService } of page.records)
      if (isActive && !isService) active.push(String(id));
    ({ cursor, more } = page);
  }
  const gone = active.filter((id) => !kept.has(id));
  if (!mayShrink && active.length >= SMALL && gone.length > active.length / 2)
    throw new Error(
      `The PSA no longer lists ${gone.length} of ${active.length} records of type ${type}. Check the rights of the account; resume the adapter if they are really gone.`,
    );
  for (let at = 0; at < gone.length; at += MAX_RECORDS)
    await unwrap(service.deactivate(gone.slice(at, at + MAX_RECORDS).map((id) => ({ type, id }))));
}
