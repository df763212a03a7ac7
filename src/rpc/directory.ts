import { WorkerEntrypoint } from 'cloudflare:workers';
import type { DirectoryRecordInput, DirectoryType } from '../domain/directory.ts';
import type { DeactivatedRecord, ListedRecords, Upserted } from '../domain/psa-shapes.ts';
import type { CallResult } from '../services/call-result.ts';
import {
  deactivateRecords,
  MAX_RECORDS,
  type RecordReference,
  upsertRecords,
} from '../services/directory/change-records.ts';
import { listRecords } from '../services/directory/list-records.ts';
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

  /**
   * The records of one type that an organization has, in the order of their ids, at most 1,000 after the
   * id `cursor` (null: from the start).
   */
  list(
    organization: string,
    type: DirectoryType,
    cursor: string | null,
    limit: number = MAX_RECORDS,
  ): Promise<CallResult<ListedRecords>> {
    return call(this.env, (ctx) => listRecords(ctx, { organization, type, cursor, limit }));
  }

  /** Deactivates up to 1,000 records of one organization. */
  deactivate(organization: string, records: RecordReference[]): Promise<CallResult<{ records: DeactivatedRecord[] }>> {
    return call(this.env, (ctx) => deactivateRecords(ctx, { organization, records }));
  }
}
