import { statement } from '../statement.ts';
import { ALL_RECORDS } from './key-days.ts';

// How much text the organizations hold, as the daily ledger counts it.

export interface StoredTextRow {
  organizationId: string;
  records: number;
  bytes: number;
  /** Those of the days from `since` on. */
  bytesSince: number;
  /** The first day in the ledger, or null if there is none. */
  firstDay: string | null;
}

/** What each organization wrote, the largest first. Reads the whole ledger. */
export const findStoredText = statement<{ since: string }, StoredTextRow>(`
  select o.id as organizationId, coalesce(sum(${ALL_RECORDS}), 0) as records, coalesce(sum(d.bytes), 0) as bytes,
    coalesce(sum(d.bytes) filter (where d.day >= :since), 0) as bytesSince, min(d.day) as firstDay
  from organizations o left join key_days d on d.organization_id = o.id group by o.id order by bytes desc, o.id`);
