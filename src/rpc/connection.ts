import { WorkerEntrypoint } from 'cloudflare:workers';
import type { DirectoryRecordInput, DirectoryType } from '../domain/directory.ts';
import type { ApprovalDecision, RecordKind } from '../domain/record-kinds.ts';
import { deactivateRecords, type RecordReference, upsertRecords } from '../services/directory/change-records.ts';
import { listRecords } from '../services/directory/list-records.ts';
import { listChanges } from '../services/work/list-changes.ts';
import { reportRecord, setApproval } from '../services/work/record-services.ts';
import { type ConnectionFailure, reportConnection } from '../services/work/report-connection.ts';
import { call } from './call.ts';

interface ConnectionProps {
  organization: string;
  /** The email addresses of the administrators, in lower case. */
  administrators: readonly string[];
}

/**
 * What an adapter may do: a Worker that connects one organization with its PSA. The binding contains the organization,
 * and who its administrators are, so the adapter decides neither. It cannot redact, erase or bring an erased
 * organization back.
 */
export class Connection extends WorkerEntrypoint<Env, ConnectionProps> {
  readonly #owner = { organization: this.ctx.props.organization };

  upsert(records: DirectoryRecordInput[]) {
    const { administrators } = this.ctx.props;
    const own = records.map((record) =>
      // An adapter can send a user without an address, which is refused with a result.
      record.type === 'user' ? { ...record, admin: administrators.includes(`${record.email}`.toLowerCase()) } : record,
    );
    return call(this.env, (ctx) => upsertRecords(ctx, { ...this.#owner, records: own }));
  }

  list(type: DirectoryType, cursor: string | null) {
    return call(this.env, (ctx) => listRecords(ctx, { ...this.#owner, type, cursor }));
  }

  deactivate(records: RecordReference[]) {
    return call(this.env, (ctx) => deactivateRecords(ctx, { ...this.#owner, records }));
  }

  changes(cursor: string | null, limit?: number) {
    return call(this.env, (ctx) => listChanges(ctx, { ...this.#owner, cursor, limit }));
  }

  report(kind: RecordKind, id: string, result: 'refused' | 'taken', reason?: string) {
    return call(this.env, (ctx) => reportRecord(ctx, { ...this.#owner, kind, id, result, reason }));
  }

  /** `by` is the name of the PSA, for the audit log if the reviewer is not an administrator. */
  review(entry: string, decision: ApprovalDecision, reviewer: string | undefined, by: string) {
    return call(this.env, (ctx) => setApproval(ctx, { ...this.#owner, entry, decision, reviewer, by }));
  }

  reportConnection(adapterId: string, failure: ConnectionFailure | null, takesOver = false, psaName?: string) {
    return call(this.env, (ctx) => reportConnection(ctx, { ...this.#owner, adapterId, failure, takesOver, psaName }));
  }
}
