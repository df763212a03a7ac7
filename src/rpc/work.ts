import { WorkerEntrypoint } from 'cloudflare:workers';
import type { ApprovalDecision, RecordKind } from '../domain/record-kinds.ts';
import { eraseOrganization } from '../services/directory/erase-organization.ts';
import { listChanges } from '../services/work/list-changes.ts';
import { resumePush } from '../services/work/push-control.ts';
import { readPsaStatus, redactRecord, reportRecord, setApproval } from '../services/work/record-services.ts';
import { call } from './call.ts';

/**
 * Notes and time entries, for a PSA that is a Worker. Like `Directory`, not reachable over HTTP. The
 * services that the methods call document them.
 */
export class Work extends WorkerEntrypoint<Env> {
  changes(organization: string, cursor: string | null, limit?: number) {
    return call(this.env, (ctx) => listChanges(ctx, { organization, cursor, limit }));
  }

  reviewTimeEntry(organization: string, entry: string, decision: ApprovalDecision, reviewer: string) {
    return call(this.env, (ctx) => setApproval(ctx, { organization, entry, decision, reviewer }));
  }

  report(organization: string, kind: RecordKind, id: string, result: 'refused' | 'taken', reason?: string) {
    return call(this.env, (ctx) => reportRecord(ctx, { organization, kind, id, result, reason }));
  }

  status(organization?: string) {
    return call(this.env, (ctx) => readPsaStatus(ctx, { organization }));
  }

  resumePush(organization: string, by: string) {
    return call(this.env, (ctx) => resumePush(ctx, { organization, by }));
  }

  redactRecord(organization: string, kind: RecordKind, id: string, by: string) {
    return call(this.env, (ctx) => redactRecord(ctx, { organization, kind, id, by }));
  }

  eraseOrganization(organization: string, cursor: string | null, by: string) {
    return call(this.env, (ctx) => eraseOrganization(ctx, { organization, cursor, by }));
  }
}
