import { statement } from '../statement.ts';

// How far each organization's directory has come in the time of those who send it. A signed message
// can be captured and sent again within minutes, so one that is older than what was applied since
// must not undo it. The trigger `directory_clock_forward` aborts the transaction of such a message.

const LAST = "messages ->> '$[#-1]'";
/** Adds the id to those of the same time, unless it is the last of them. */
const WITH_MESSAGE = `iif(${LAST} is :message, messages, json_insert(messages, '$[#]', :message))`;

/** Records that a message is applied. Fails with `OLDER_MESSAGE` after one with a later time or place. */
export const applyMessage = statement<{ organizationId: string; at: number; message: string }>(`
  insert into directory_clock (organization_id, at, messages) values (:organizationId, :at, json_array(:message))
  on conflict (organization_id) do update set
    at = excluded.at, messages = iif(excluded.at > directory_clock.at, excluded.messages, ${WITH_MESSAGE})`);

/** The time of the newest change of an organization's directory; no row if there was none. */
export const findClock = statement<{ organizationId: string }, { at: number }>(
  'select at from directory_clock where organization_id = :organizationId',
);

/** Stands for a change without a signed message (import, adapter). */
const UNSIGNED = "''";
const UNSIGNED_CONFLICT = `on conflict (organization_id) do update set
    at = max(directory_clock.at, excluded.at),
    messages = iif(excluded.at > directory_clock.at, excluded.messages, ${WITH_MESSAGE.replaceAll(':message', UNSIGNED)})`;

/** Records an unsigned change, which is never refused, at the database's time: an operator's clock may be wrong. */
export const applyUnsigned = statement<{ organizationId: string }>(`
  insert into directory_clock (organization_id, at, messages)
  values (:organizationId, unixepoch() * 1000, json_array(${UNSIGNED}))
  ${UNSIGNED_CONFLICT}`);

/** Records an erasure, so that a message from before it does not bring the organization back. */
export const applyErasure = (isOpen: string) => `
  insert into directory_clock (organization_id, at, messages)
  select organization_id, unixepoch() * 1000, json_array(${UNSIGNED}) from erasures
  where organization_id = :organizationId and request_id = :requestId and ${isOpen}
  ${UNSIGNED_CONFLICT}`;
