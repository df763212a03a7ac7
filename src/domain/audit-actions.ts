/** What the audit log can tell of, and in which words. Other parts of the system may add actions; those are shown as they are stored. */
export const AUDIT_ACTIONS: Readonly<Record<string, string>> = {
  'note.created': 'Internal note added',
  'time_entry.created': 'Time logged',
  'time_entry.approved': 'Time approved',
  'time_entry.rejected': 'Time rejected',
  'note.redacted': 'Internal note redacted',
  'time_entry.redacted': 'Time entry redacted',
  'api_key.created': 'Key created',
  'api_key.changed': 'Key changed',
  'api_key.rotated': 'Key rotated',
  'api_key.revoked': 'Key revoked',
};
