/** What to do about a 401, in order: the answer itself never says which it is. */
export const UNAUTHORIZED_STEPS = [
  'ping works but a write is 401: the key lacks the scope for it.',
  "ping is 401: send `Authorization: Bearer <key>`; in n8n choose 'Bearer Auth' and enter the key only.",
  'Still 401: ask your administrator for Refused uses of the key.',
  'Nothing there: the value is truncated, or it belongs to another environment.',
] as const;
