import { env, exports, waitUntil } from 'cloudflare:workers';
import type { Change } from '../../src/domain/change.ts';
import type { DirectoryRecordInput, DirectoryType } from '../../src/domain/directory.ts';
import type { ApprovalDecision, RecordKind } from '../../src/domain/record-kinds.ts';
import { portsOf } from '../../src/module.ts';
import type { Connection } from '../../src/rpc/connection.ts';
import { type CallResult, toCallResult } from '../../src/services/call-result.ts';
import { deactivateRecords, type RecordReference, upsertRecords } from '../../src/services/directory/change-records.ts';
import { listRecords } from '../../src/services/directory/list-records.ts';
import type { SystemContext } from '../../src/services/service-context.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { readPsaStatus, redactRecord, reportRecord, setApproval } from '../../src/services/work/record-services.ts';
import { contributions } from '../../src/startup.ts';
import { asOperator } from './world.ts';

// The calls of a PSA without their messages: the services that they run, with their errors as results.

const call = <T>(run: (ctx: SystemContext) => Promise<T>): Promise<CallResult<T>> =>
  toCallResult(() =>
    run({
      ...asOperator(env.DB),
      actor: 'psa',
      source: { address: null, userAgent: 'psa' },
      ...portsOf(contributions, waitUntil),
    }),
  );

export const directory = {
  upsert: (organization: string, records: DirectoryRecordInput[], allOrNothing?: boolean, recreate?: boolean) =>
    call((ctx) => upsertRecords(ctx, { organization, records, allOrNothing, recreate })),
  list: (organization: string, type: DirectoryType, cursor: string | null, limit?: number) =>
    call((ctx) => listRecords(ctx, { organization, type, cursor, limit })),
  deactivate: (organization: string, records: RecordReference[]) =>
    call((ctx) => deactivateRecords(ctx, { organization, records })),
};

export const work = {
  changes: (organization: string, cursor: string | null, limit?: number) =>
    call((ctx) => listChanges(ctx, { organization, cursor, limit })),
  reviewTimeEntry: (organization: string, entry: string, decision: ApprovalDecision, reviewer: string) =>
    call((ctx) => setApproval(ctx, { organization, entry, decision, reviewer })),
  report: (organization: string, kind: RecordKind, id: string, result: 'refused' | 'taken', reason?: string) =>
    call((ctx) => reportRecord(ctx, { organization, kind, id, result, reason })),
  status: (organization?: string) => call((ctx) => readPsaStatus(ctx, { organization })),
  redactRecord: (organization: string, kind: RecordKind, id: string, by: string) =>
    call((ctx) => redactRecord(ctx, { organization, kind, id, by })),
};

/** The entry point of an adapter, with the properties of its binding, through real RPC. */
export const connectionOf = (organization: string, administrators: string[] = []): Methods<Connection> =>
  exports.Connection({ props: { organization, administrators } });

/** The methods of an entry point, because TypeScript needs much time to write the types of a stub. */
type Methods<Entrypoint> = {
  [Name in keyof Entrypoint as Entrypoint[Name] extends (...args: never) => Promise<unknown>
    ? Name
    : never]: Entrypoint[Name];
};

/** The value of a call that succeeded. */
export function resultOf<T>(answer: CallResult<T>): T {
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
}

/** What went wrong with a call: its code, and the pointers and codes of its errors. */
export function failureOf(answer: CallResult<unknown>): string[] {
  if (answer.ok) return [];
  const { code, errors } = answer.error;
  return [code, ...errors.map((error) => `${error.pointer} ${error.code}`)];
}

/** An argument of any type, as from a caller without types. */
export const untyped = (input: unknown) => JSON.parse(JSON.stringify(input));

/** All changes of an organization. */
export async function allChanges(organization: string): Promise<Change[]> {
  let page = resultOf(await work.changes(organization, null));
  const all = page.changes;
  while (page.more) {
    page = resultOf(await work.changes(organization, page.cursor));
    all.push(...page.changes);
  }
  return all;
}

/** The cursor of an organization's last change. */
export async function lastCursor(organization: string): Promise<string | null> {
  let page = resultOf(await work.changes(organization, null));
  while (page.more) page = resultOf(await work.changes(organization, page.cursor));
  return page.cursor;
}
