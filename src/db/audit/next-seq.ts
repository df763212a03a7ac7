/** The number of the organization's next audit row, as an SQL expression. */
export const NEXT_SEQ = '(select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)';
