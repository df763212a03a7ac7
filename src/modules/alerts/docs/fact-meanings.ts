import {
  DAY_LIMIT_PERCENT,
  EXPIRING_DAYS,
  EXPIRY_LEVELS,
  type FactType,
  PSA_REFUSAL_DAYS,
  UNUSED_DAYS,
} from '../../../domain/facts.ts';

const KEPT = 'It ends when an access review that keeps the key is finished';
const PASSES =
  'It ends when the key or its successor writes more than an hour after the last one, the key is revoked, an administrator has seen it, or seven days have passed.';

/** When there is a fact of each type of the core. */
export const FACT_MEANINGS: Readonly<Record<FactType, string>> = {
  refused_by_psa: `The PSA could not take a note or a time entry in the last ${PSA_REFUSAL_DAYS} days, and has not taken it since. It becomes more urgent at 10, 100, 1,000 records and so on.`,
  refused_expired: 'A request with an expired key was refused in the last seven days. It ends when the key is revoked.',
  refused_idempotency_mismatch:
    'A different request with a used Idempotency-Key may have lost its write in the last seven days. It ends when an administrator has entered the write by hand.',
  push_failing:
    'The changes of the organization have not reached the PSA for five minutes, its adapter has failed or been silent for so long, or the PSA or an adapter has stopped them.',
  refused_revoked:
    'A request with a revoked key was refused in the last seven days. It ends when an administrator has seen that it was not theirs.',
  refused_scope_missing:
    'A request was refused in the last seven days because its key lacks the scope. It ends when the key is revoked; not when it is rotated, because its successor lacks the scope too.',
  refused_address_not_allowed:
    'A request was refused in the last seven days because it came from outside the allowed networks of its key. It ends when the address is allowed, the key is rotated or revoked, or an administrator has seen that it was not theirs; not when the key writes.',
  refused_daily_limit_reached:
    "A write was refused because of a daily limit. It ends when the key or its successor writes again, the key's limit is raised, the key is revoked, or the day ends.",
  refused_technician_not_eligible: `Three requests within an hour were refused because they credit time to a user who is no active technician. ${PASSES}`,
  refused_ticket_not_found: `Three requests within an hour were refused because their tickets are unknown or closed. ${PASSES}`,
  key_expiring: `A key without a successor expires within ${EXPIRING_DAYS} days; it becomes more urgent within ${EXPIRY_LEVELS.join(' days and within ')} day.`,
  key_unused: `A key has not written anything for ${UNUSED_DAYS} days. ${KEPT}, until the key is unused again after a write.`,
  key_of_former: `A key was created by a person who is no longer an administrator. ${KEPT}.`,
  daily_limit: `A key, or the organization if \`key\` is null, has used ${DAY_LIMIT_PERCENT} or 100 percent of a daily limit today or on the two days before.`,
  database_size: 'The database of the deployment has reached 70 or 90 percent of its limit. `organization` is null.',
};
