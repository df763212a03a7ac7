// What other statements have to know of erasures.

/** Condition: an erasure of the organization is open, so part of its rows may be gone. */
export const IS_BEING_ERASED =
  'exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1)';

/** The message of the triggers that refuse audit rows and changes of the directory until the end of an erasure. */
export const BEING_ERASED_MESSAGE = 'erasures: the organization is being erased';
