import { WorkerEntrypoint } from 'cloudflare:workers';
import type { DirectoryRecordInput } from '../domain/directory.ts';
import type { DeactivatedRecord, Upserted } from '../domain/psa-shapes.ts';
import type { CallResult } from '../services/call-result.ts';
import { deactivateRecords, type RecordReference, upsertRecords } from '../services/directory/change-records.ts';
import { call } from './call.ts';

/**
 * The directory, for a PSA that is a Worker with a service binding to this entrypoint. Anyone who can deploy such a
 * binding is trusted with all organizations. The binding is not a credential, and HTTP requests cannot reach this
 * entrypoint.
 */
export class Directory extends WorkerEntrypoint<Env> {
  /**
   * Creates or changes up to 1,000 records of one organization: those that break no rule, or with
   * `allOrNothing` none if one breaks a rule.
   */
  upsert(organization: string, records: DirectoryRecordInput[], allOrNothing?: boolean): Promise<CallResult<Upserted>> {
    return call(this.env, (ctx) => upsertRecords(ctx, { organization, records, allOrNothing }));
  }

  /** Deactivates up to 1,000 records of one organization. */
  deactivate(organization: string, records: RecordReference[]): Promise<CallResult<{ records: DeactivatedRecord[] }>> {
    return call(this.env, (ctx) => deactivateRecords(ctx, { organization, records }));
  }
}
