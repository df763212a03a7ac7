import { liveKeyIds } from '../keys/read-keys-statements.ts';
import { columns, number, type RowOf, statement, text } from '../statement.ts';

const LIVE_KEYS = {
  organizationId: text('i.value'),
  keys: number(`(select count(*) from (${liveKeyIds('i.value')}))`),
};

/** How many live keys each of these organizations (a JSON array of ids) has. */
export const countLiveKeysOf = statement<{ organizationIds: string; now: number }, RowOf<typeof LIVE_KEYS>>(`
  select ${columns(LIVE_KEYS)} from json_each(:organizationIds) i`);
