import { WorkerEntrypoint } from 'cloudflare:workers';
import type { RecordKind } from '../domain/record-id.ts';
import { type ChangesPage, changes, MAX_CHANGES } from '../services/work/list-changes.ts';
import { eraseOrganization } from '../services/directory/erase-organization.ts';
import { redactRecord } from '../services/work/redact-record.ts';
import { type Decision, reviewTimeEntry } from '../services/work/review-time-entry.ts';
import { type Answer, answer } from './call.ts';

/** What was written, for a PSA that is a Worker itself: read it, review it, redact it, erase it. As closed to HTTP as `Directory`. */
export class Work extends WorkerEntrypoint<Env> {
  /** The next changes of an organization behind a cursor (null: from the beginning), oldest first; at most 100. */
  changes(organization: string, cursor: string | null, limit: number = MAX_CHANGES): Promise<Answer<ChangesPage>> {
    return answer(this.env, (ctx) => changes(ctx, { organization, cursor, limit }));
  }

  /** Approves or rejects a time entry, once, in the name of an administrator. */
  reviewTimeEntry(organization: string, entry: string, decision: Decision, reviewer: string): Promise<Answer<{ status: Decision }>> {
    return answer(this.env, (ctx) => reviewTimeEntry(ctx, { organization, entry, decision, reviewer }));
  }

  /** Replaces the text of a note or time entry with "[redacted]". */
  redactRecord(organization: string, kind: RecordKind, id: string, by: string): Promise<Answer<{ status: 'redacted' | 'unchanged' }>> {
    return answer(this.env, (ctx) => redactRecord(ctx, { organization, kind, id, by }));
  }

  /** Removes an organization for good, once all of its changes have been read: `cursor` is the last one. */
  eraseOrganization(organization: string, cursor: string | null, by: string): Promise<Answer<{ auditRows: number }>> {
    return answer(this.env, (ctx) => eraseOrganization(ctx, { organization, cursor, by }));
  }
}
