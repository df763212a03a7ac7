import { WorkerEntrypoint } from 'cloudflare:workers';
import type { DirectoryRecordInput } from '../domain/directory.ts';
import {
  type DeactivatedRecord,
  deactivateRecords,
  type RecordReference,
  type Upserted,
  upsertRecords,
} from '../services/directory/change-records.ts';
import { type Answer, answer } from './call.ts';

/**
 * The directory, for a PSA that is a Worker and has a service binding to this entrypoint. Anyone who may deploy such a binding is
 * trusted with all organizations. It is not a credential, and no HTTP request arrives here.
 */
export class Directory extends WorkerEntrypoint<Env> {
  /** Creates or changes up to 1,000 records of one organization, all of them or none. */
  upsert(organization: string, records: DirectoryRecordInput[]): Promise<Answer<Upserted>> {
    return answer(this.env, (ctx) => upsertRecords(ctx, { organization, records }));
  }

  /** Deactivates up to 1,000 records of one organization. */
  deactivate(organization: string, records: RecordReference[]): Promise<Answer<{ records: DeactivatedRecord[] }>> {
    return answer(this.env, (ctx) => deactivateRecords(ctx, { organization, records }));
  }
}
