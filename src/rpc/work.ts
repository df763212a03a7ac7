import { WorkerEntrypoint } from 'cloudflare:workers';
import type { PsaStatus, Released } from '../domain/psa-shapes.ts';
import type { RecordKind } from '../domain/record-kinds.ts';
import type { Decision } from '../domain/time-entry.ts';
import type { CallResult } from '../services/call-result.ts';
import { eraseOrganization } from '../services/directory/erase-organization.ts';
import type { Redaction } from '../services/service-context.ts';
import { resumePush, skipPush } from '../services/work/control-push.ts';
import { type ChangesPage, listChanges, MAX_CHANGES } from '../services/work/list-changes.ts';
import { redactRecord } from '../services/work/redact-record.ts';
import { releaseChanges } from '../services/work/release-changes.ts';
import { readPsaStatus, reportRecord } from '../services/work/report-record.ts';
import { setApproval } from '../services/work/set-approval.ts';
import { call } from './call.ts';

/** Notes and time entries, for a PSA that is a Worker. Like `Directory`, not reachable over HTTP. */
export class Work extends WorkerEntrypoint<Env> {
  /** The organization's changes after a cursor (null: from the start), oldest first, at most 100. */
  changes(organization: string, cursor: string | null, limit: number = MAX_CHANGES): Promise<CallResult<ChangesPage>> {
    return call(this.env, (ctx) => listChanges(ctx, { organization, cursor, limit }));
  }

  /** Confirms that the PSA has stored all changes up to a cursor, so that they may be archived. */
  release(organization: string, cursor: string): Promise<CallResult<Released>> {
    return call(this.env, (ctx) => releaseChanges(ctx, { organization, cursor }));
  }

  /** Approves or rejects a time entry on behalf of an administrator. The same decision again changes nothing. */
  reviewTimeEntry(
    organization: string,
    entry: string,
    decision: Decision,
    reviewer: string,
  ): Promise<CallResult<{ status: Decision }>> {
    return call(this.env, (ctx) => setApproval(ctx, { organization, entry, decision, reviewer }));
  }

  /**
   * Reports that the PSA could not take a record (`reason` explains why), or has taken a record that it
   * refused before.
   */
  report(
    organization: string,
    kind: RecordKind,
    id: string,
    result: 'refused' | 'taken',
    reason?: string,
  ): Promise<CallResult<{ status: 'recorded' | 'unchanged' }>> {
    return call(this.env, (ctx) => reportRecord(ctx, { organization, kind, id, result, reason }));
  }

  /** How many records the PSA refused and has not taken since. */
  status(organization?: string): Promise<CallResult<PsaStatus>> {
    return call(this.env, (ctx) => readPsaStatus(ctx, { organization }));
  }

  /** Resumes an organization's push immediately, whether it is stopped or waits after a failure. */
  resumePush(organization: string, by: string): Promise<CallResult<{ status: 'resumed' | 'unchanged' }>> {
    return call(this.env, (ctx) => resumePush(ctx, { organization, by }));
  }

  /** Leaves out an organization's changes up to a cursor. */
  skipPush(organization: string, cursor: string, by: string): Promise<CallResult<{ status: 'skipped' | 'unchanged' }>> {
    return call(this.env, (ctx) => skipPush(ctx, { organization, to: cursor, by }));
  }

  /** Replaces the text of a record with "[redacted]". */
  redactRecord(organization: string, kind: RecordKind, id: string, by: string): Promise<CallResult<Redaction>> {
    return call(this.env, (ctx) => redactRecord(ctx, { organization, kind, id, by }));
  }

  /** Erases an organization permanently. `cursor` is its last change, `without` lost objects. Repeat the call while `more` is true. */
  eraseOrganization(
    organization: string,
    cursor: string | null,
    by: string,
    without: string[] = [],
  ): Promise<CallResult<{ auditRows: number; more: boolean }>> {
    return call(this.env, (ctx) => eraseOrganization(ctx, { organization, cursor, by, without }));
  }
}
