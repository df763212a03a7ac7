import { statement } from '../statement.ts';

interface EndValues {
  organizationId: string;
  keyId: string;
  /** A JSON array of reasons and last times: a use that was refused again is not ended. */
  uses: string;
  now: number;
}

/** Ends refused uses whose cause the statement before it removed. */
export const endRepairedUses = statement<EndValues>(`
  update refused_uses set ends_at = :now
  where organization_id = :organizationId and key_id = :keyId and coalesce(ends_at > :now, 1)
    and (reason, last_at) in (select value ->> 'reason', value ->> 'lastAt' from json_each(:uses)) and changes() = 1`);
