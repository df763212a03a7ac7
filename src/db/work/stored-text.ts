import { statement } from '../statement.ts';

// How much text the organizations hold, as the daily ledger counts it.

/**
 * Whether the organization wrote more than a quarter of the bytes in the ledger: the others together
 * wrote less than three times as many. Reads the organization's rows and then those of the others,
 * organization by organization, until these have three times as many bytes. That is the whole
 * ledger only if the organization is above or just below a quarter.
 */
export const findLargeShare = statement<{ organizationId: string }, { isLarge: number }>(`
  with own as materialized (select coalesce(sum(bytes), 0) as bytes from key_days where organization_id = :organizationId)
  select own.bytes > 0 and not exists (
    select 1 from (
      select sum(bytes) over (rows unbounded preceding) as others from (
        select sum(bytes) as bytes from key_days where organization_id <> :organizationId group by organization_id))
    where others >= 3 * own.bytes) as isLarge
  from own`);
