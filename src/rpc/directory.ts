import { WorkerEntrypoint } from 'cloudflare:workers';
import type { DirectoryRecordInput, DirectoryType } from '../domain/directory.ts';
import { deactivateRecords, type RecordReference, upsertRecords } from '../services/directory/change-records.ts';
import { listRecords } from '../services/directory/list-records.ts';
import { call } from './call.ts';

/**
 * The directory, for a PSA that is a Worker with a service binding to this entrypoint. Anyone who can deploy such a
 * binding is trusted with all organizations. The binding is not a credential, and HTTP requests cannot reach this
 * entrypoint.
 */
export class Directory extends WorkerEntrypoint<Env> {
  upsert(organization: string, records: DirectoryRecordInput[], allOrNothing?: boolean, recreate?: boolean) {
    return call(this.env, (ctx) => upsertRecords(ctx, { organization, records, allOrNothing, recreate }));
  }

  list(organization: string, type: DirectoryType, cursor: string | null, limit?: number) {
    return call(this.env, (ctx) => listRecords(ctx, { organization, type, cursor, limit }));
  }

  deactivate(organization: string, records: RecordReference[]) {
    return call(this.env, (ctx) => deactivateRecords(ctx, { organization, records }));
  }
}
