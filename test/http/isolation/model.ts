import type { EventOf } from './events.ts';
import type { Contents, Row } from './organizations.ts';

// What an organization would respond if it were the only one, computed from its own rows alone.

export const isLive = (key: Row) =>
  key['revoked_at'] === null && (key['expires_at'] === null || Number(key['expires_at']) > Date.now());

export const isActive = (rows: Row[], id: Row[string] | undefined) =>
  rows.some((row) => row['id'] === id && row['active'] === 1);

/** Whether a key may write to the tickets of an active company. */
export const admits = (own: Contents, key: Row | undefined, company: Row[string] | undefined) =>
  isActive(own.companies, company) &&
  (key?.['companies'] === '' || String(key?.['companies']).split(' ').includes(String(company)));

/** The ids of the records that a key must not see: those of other chains, outside of the companies it is limited to. */
export function hiddenRecords(own: Contents, keyId: string): string[] {
  const key = keyWithId(own, keyId);
  if (!key || key['companies'] === '') return [];
  const companyOf = (ticket: Row[string] | undefined) => own.tickets.find(({ id }) => id === ticket)?.['company_id'];
  const isOfChain = (id: Row[string] | undefined) => keyWithId(own, String(id))?.['chain_id'] === key['chain_id'];
  return [...own.notes, ...own.time_entries]
    .filter((record) => !isOfChain(record['key_id']) && !admits(own, key, companyOf(record['ticket_id'])))
    .map(({ id }) => String(id));
}

const keyWithId = (own: Contents, keyId: string) => own.api_keys.find(({ id }) => id === keyId);

interface ExpectedWrite {
  status: number;
  /** The user and company of the new record, with status 201. */
  user?: Row[string] | undefined;
  company?: Row[string] | undefined;
}

interface WriteRequest {
  keyId: string;
  kind: EventOf<'write'>['kind'];
  idempotencyKey: string | null;
  ticket: string;
  userEmail: string | undefined;
}

/** The response to a write. */
export function expectedWrite(own: Contents, request: WriteRequest): ExpectedWrite {
  const { kind, idempotencyKey, ticket, userEmail } = request;
  const key = keyWithId(own, request.keyId);
  const scope = kind === 'note' ? 'tickets:note:write' : 'tickets:time:write';
  if (!key || !isLive(key) || !String(key['scopes']).includes(scope)) return { status: 401 };
  const isReplayed = (entry: Row) =>
    entry['idempotency_key'] === idempotencyKey && entry['action'] === `${kind}.created`;
  const company = own.tickets.find(({ id, active }) => id === ticket && active === 1)?.['company_id'];
  const record = idempotencyKey === null ? undefined : own.audit_log.find(isReplayed);
  if (record) {
    const isOwn = keyWithId(own, String(record['actor_id']))?.['chain_id'] === key['chain_id'];
    if (key['companies'] === '' || isOwn) return { status: 200 };
    if (!admits(own, key, company)) return { status: 404 };
    const { company_id: other } = own.tickets.find(({ id }) => id === record['ticket_id']) ?? {};
    return { status: admits(own, key, other) ? 200 : 409 };
  }
  if (!admits(own, key, company)) return { status: 404 };
  const user = own.users.find((one) =>
    userEmail === undefined
      ? one['is_service'] === 1
      : one['email'] === userEmail && one['active'] === 1 && one['is_technician'] === 1,
  );
  return user ? { status: 201, user: user['id'], company } : { status: 422 };
}

/** The status of a page that the organization's administrator opens. */
export function expectedPage(own: Contents, page: EventOf<'open'>['page'], keyId: string): number {
  if (page === '/revoke-all') return own.api_keys.some(isLive) ? 200 : 303;
  if (!page.includes('{key}')) return 200;
  const key = keyWithId(own, keyId);
  if (!key) return 404;
  if (page.endsWith('/change')) return isLive(key) ? 200 : 409;
  if (page.endsWith('/rotate')) return isLive(key) && key['successor_id'] === null ? 200 : 409;
  if (page.endsWith('/revoke')) return key['revoked_at'] === null ? 200 : 303;
  return 200;
}

/** The id of the key that a form has already created. */
export const createdByForm = (own: Contents, token: string) =>
  own.api_keys.find((key) => key['form_token'] === token)?.['id'];

interface FormRequest {
  form: EventOf<'send'>['form'];
  keyId: string;
  name: string;
  token: string;
  companies: string;
}

/** The status of the response to a form that the organization's administrator sends. */
export function expectedForm(own: Contents, { form, keyId, name, token, companies }: FormRequest): number {
  const key = keyWithId(own, keyId);
  const isUsed = createdByForm(own, token) !== undefined;
  const isTaken = (except?: string) =>
    own.api_keys.some(
      (one) =>
        one['name'] === name && one['revoked_at'] === null && one['successor_id'] === null && one['id'] !== except,
    );
  if (form.startsWith('which')) return key ? 303 : 200;
  const isUnknown = companies !== '*' && !own.companies.some(({ id }) => id === companies);
  if (form === 'create') return isUnknown ? 400 : isUsed ? 303 : isTaken() ? 400 : 200;
  if (!key) return 404;
  if (form === 'revoke') return 303;
  // Even if the key that it replaced no longer works.
  if (form !== 'change' && isUsed) return 303;
  if (!isLive(key)) return 409;
  if (form === 'change') return isUnknown || (key['successor_id'] === null && isTaken(keyId)) ? 400 : 303;
  return key['successor_id'] === null ? 200 : 409;
}

/** The code with which an approval is refused, or undefined if it is not. */
export function expectedReview(own: Contents, entryId: string, reviewer: string): string | undefined {
  const entry = own.time_entries.find(({ id }) => id === entryId);
  if (!entry) return 'record_not_found';
  if (entry['approvals'] === 'settings') return 'approved_in_settings';
  if (entry['status'] !== 'SUBMITTED') {
    const approved = own.audit_log.find(({ seq }) => seq === entry['approval_seq']);
    return [reviewer, 'psa'].includes(String(approved?.['actor_id'])) ? undefined : 'already_reviewed';
  }
  return undefined;
}

/**
 * What a redaction returns as its status, or undefined for a record that the organization does not
 * have.
 */
export function expectedRedaction(
  own: Contents,
  table: 'notes' | 'time_entries',
  recordId: string,
): 'redacted' | 'unchanged' | undefined {
  const record = own[table].find(({ id }) => id === recordId);
  if (!record) return undefined;
  return record['request_digest'] === '' ? 'unchanged' : 'redacted';
}
