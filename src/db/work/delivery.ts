import { columns, numberOrNull, type RowOf, textOrNull } from '../statement.ts';

// How far the PSA has the record of a replay, in the explanation of a write. It needs the key `k`, the record `r`, and
// the parameters of `ExplainValues`.

/** `w` is the key that wrote the record, if it is of the chain of `k`. Without it, nothing more is read. */
export const DELIVERY_JOINS = `left join api_keys w on w.organization_id = :organizationId and w.chain_id = k.chain_id
    and w.id = r.key_id
  left join psa_refusals f on f.organization_id = w.organization_id and f.record_id = :id
  left join pushes d on d.organization_id = w.organization_id
  left join releases l on l.organization_id = w.organization_id`;

const DELIVERY = {
  /** The audit row of the record's write; null if there is no record, or another chain wrote it. */
  writtenSeq: numberOrNull('iif(w.id is null, null, r.audit_seq)'),
  releasedSeq: numberOrNull('l.seq'),
  /** The last change that was confirmed or skipped, and the skipped ranges, as `pushes` has them. */
  confirmedSeq: numberOrNull('d.confirmed_seq'),
  skipped: textOrNull('d.skipped'),
  refusedAt: numberOrNull('f.refused_at'),
};

export type DeliveryRow = RowOf<typeof DELIVERY>;

export const DELIVERY_COLUMNS = columns(DELIVERY);
