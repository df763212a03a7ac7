import * as z from 'zod/mini';
import { keysOf } from '../lib/objects.ts';
import { isTimeZone } from './calendar.ts';
import { DIRECTORY_ID } from './directory-id.ts';
import { echo, emailAddress, type FieldError, fieldErrors, flag, freeText, lazyObject, ruleError } from './fields.ts';
import { hourlyRate } from './money.ts';
import { APPROVERS } from './record-kinds.ts';

export const directoryId = (what: string) => {
  const error = ruleError(`the id of ${what}: 1 to 64 letters, digits or . _ ~ -`, (value) =>
    typeof value === 'number' ? `send a string${Number.isSafeInteger(value) ? `: "${value}"` : ''}` : undefined,
  );
  return z.string({ error }).check(z.regex(DIRECTORY_ID, { error }));
};
const active = () => z._default(flag(), true);
export const MAX_NAME_LENGTH = 200;
const name = () => freeText(MAX_NAME_LENGTH);

/** The id of the service account of an organization whose directory names none. */
export const BUILT_IN_SERVICE_ACCOUNT = 'service-account';

/** The ids of a record that belongs to an organization. */
const idsOf = <Type extends string>(type: Type) => ({
  type: z.literal(type),
  organization: directoryId('an organization'),
  id: directoryId(`the ${type}`),
});

/** The records of a directory. Parsing converts rates to minor units and email addresses to lower case. */
const shapes = {
  organization: lazyObject(() => ({
    type: z.literal('organization'),
    id: directoryId('the organization'),
    name: name(),
    psa: flag(),
    timeZone: z
      .string({ error: ruleError('an IANA time zone such as Europe/Berlin') })
      .check(z.refine(isTimeZone, { error: ruleError('an IANA time zone such as Europe/Berlin') })),
    defaultHourlyRate: hourlyRate(),
    approvals: z._default(z.enum(APPROVERS, { error: ruleError(APPROVERS.join(' or ')) }), 'settings'),
    active: active(),
  })),
  company: lazyObject(() => ({ ...idsOf('company'), name: name(), active: active() })),
  user: lazyObject(() => ({
    ...idsOf('user'),
    email: emailAddress('an email address').check(
      z.refine((email) => !email.endsWith('.invalid'), {
        error:
          'ends in .invalid, which is reserved for addresses that this service generates (RFC 2606); send a real address',
      }),
    ),
    name: name(),
    admin: z._default(flag(), false),
    technician: z._default(flag(), false),
    service: z._default(flag(), false),
    active: active(),
  })).check(
    z.refine(({ service, admin, technician, active }) => !service || (active && !admin && !technician), {
      path: ['service'],
      error: 'was true; a service account must be active and neither admin nor technician',
    }),
    z.refine(({ id, service }) => service || id !== BUILT_IN_SERVICE_ACCOUNT, {
      path: ['id'],
      error: `was ${BUILT_IN_SERVICE_ACCOUNT}, which is reserved for a service account; choose another id`,
    }),
  ),
  agreement: lazyObject(() => ({
    ...idsOf('agreement'),
    company: directoryId('a company'),
    hourlyRate: hourlyRate(),
    active: active(),
  })),
  ticket: lazyObject(() => ({ ...idsOf('ticket'), company: directoryId('a company'), active: active() })),
};

export type DirectoryType = keyof typeof shapes;
/** A record refers only to records of the types before its own. */
export const DIRECTORY_TYPES: readonly DirectoryType[] = keysOf(shapes);

type FieldOf<Type extends DirectoryType> = Exclude<
  keyof z.output<(typeof shapes)[Type]>,
  'type' | 'organization' | 'id'
>;
export type DirectoryField = { [Type in DirectoryType]: FieldOf<Type> }[DirectoryType];
type TypesWith<Field> = { [Type in DirectoryType]: Field extends FieldOf<Type> ? Type : never }[DirectoryType];

/** The fields of a record, without its type and ids. */
export const fieldsOf = (type: DirectoryType): DirectoryField[] =>
  keysOf(DIRECTORY_FIELDS).filter((field) => DIRECTORY_FIELDS[field].of.some((of) => of === type));

/** Each field: what it contains, and the types of records that have it. */
export const DIRECTORY_FIELDS = {
  email: { contains: 'text', of: ['user'] },
  name: { contains: 'text', of: ['organization', 'company', 'user'] },
  psa: { contains: 'flag', of: ['organization'] },
  timeZone: { contains: 'text', of: ['organization'] },
  defaultHourlyRate: { contains: 'rate', of: ['organization'] },
  approvals: { contains: 'text', of: ['organization'] },
  admin: { contains: 'flag', of: ['user'] },
  technician: { contains: 'flag', of: ['user'] },
  service: { contains: 'flag', of: ['user'] },
  company: { contains: 'text', of: ['agreement', 'ticket'] },
  hourlyRate: { contains: 'rate', of: ['agreement'] },
  active: { contains: 'flag', of: ['organization', 'company', 'user', 'agreement', 'ticket'] },
} as const satisfies {
  [Field in DirectoryField]: { contains: 'text' | 'flag' | 'rate'; of: TypesWith<Field>[] };
};

export type DirectoryRecord = { [Type in DirectoryType]: z.output<(typeof shapes)[Type]> }[DirectoryType];

/** A record as a PSA writes it: fields with a default may be omitted. */
export type DirectoryRecordInput = { [Type in DirectoryType]: z.input<(typeof shapes)[Type]> }[DirectoryType];

export function describedRecord() {
  return z.union(
    DIRECTORY_TYPES.map((type) => shapes[type].check(z.meta({ title: type, description: DESCRIPTIONS[type] }))),
  );
}

const DESCRIPTIONS: Record<DirectoryType, string> = {
  organization:
    'A tenant. `timeZone` is an IANA name; work dates are computed in it. `psa`: whether write-back is enabled; without it, writes get `psa_not_included`. `approvals`: who decides about time that is written from now on, `psa` (your system) or `settings` (administrators in the settings area). All keys of an inactive organization are refused.',
  company: 'A customer of the organization. Tickets of an inactive company cannot be written to.',
  user: '`email` is unique within the organization, ignoring case. At most one user is the service account, to which time is credited by default; it must be active and neither admin nor technician. The id service-account is reserved for a service account, and addresses in .invalid are refused.',
  agreement: 'The hourly rate for the company, at most two decimals. A company has at most one active agreement.',
  ticket: 'Notes and time entries are written on tickets. An inactive ticket is treated as missing.',
};

/** `record` is null if it breaks a rule; its id is still known, so other records may refer to it. */
export interface DirectoryEntry {
  /** Line of the file, from 1, or index in the list, from 0. */
  at: number;
  type: DirectoryType;
  id: string;
  record: DirectoryRecord | null;
}

/** One error of a record. `subject` names it as far as it could be read, such as `user ada`. */
export interface DirectoryError extends FieldError {
  at: number;
  subject: string;
}

/** The result of parsing one record. No entry if type, id or organization could not be read. */
export interface ReadRecord {
  organization?: string;
  entry?: DirectoryEntry;
  errors: DirectoryError[];
}

const head = z.lazy(() =>
  z.looseObject({
    type: z.enum(DIRECTORY_TYPES),
    id: z.optional(z.unknown()),
    organization: z.optional(z.unknown()),
  }),
);
const ownership = z.lazy(() =>
  z.object({ id: directoryId('the record'), organization: directoryId('an organization') }),
);

export function readRecord(value: unknown, at: number): ReadRecord {
  const { data } = head.safeParse(value);
  if (!data) {
    const detail = `type is not one of ${DIRECTORY_TYPES.join(', ')}`;
    return { errors: [{ at, subject: 'record', pointer: '/type', code: 'invalid_value', detail }] };
  }
  const { type } = data;
  const result = shapes[type].safeParse(value);
  if (result.success) {
    const record = result.data;
    const owner = record.type === 'organization' ? record.id : record.organization;
    return { organization: owner, entry: { at, type, id: record.id, record }, errors: [] };
  }
  const subject = typeof data.id === 'string' ? `${type} ${echo(data.id)}` : type;
  const errors = fieldErrors(result.error).map((error) => ({ ...error, at, subject }));
  const owned = ownership.safeParse(type === 'organization' ? { id: data.id, organization: data.id } : data).data;
  return owned
    ? { organization: owned.organization, entry: { at, type, id: owned.id, record: null }, errors }
    : { errors };
}

export function entryError({ at, type, id }: DirectoryEntry, pointer: string, code: string, detail: string) {
  return { at, subject: `${type} ${id}`, pointer, code, detail };
}

/**
 * Unique values that more than one record of an organization claims: an id, an email address, being the service
 * account, a company's active agreement. `locate` describes where the first claim is.
 */
export function conflicts(entries: readonly DirectoryEntry[], locate: (at: number) => string): DirectoryError[] {
  const claimed = new Map<string, number>();
  const errors: DirectoryError[] = [];
  for (const entry of entries) {
    for (const { pointer, claim, taken } of uniqueClaims(entry)) {
      const first = claimed.get(claim);
      if (first === undefined) claimed.set(claim, entry.at);
      else errors.push(entryError(entry, pointer, 'conflict', `${taken} ${locate(first)}`));
    }
  }
  return errors;
}

function uniqueClaims({ type, id, record }: DirectoryEntry): { pointer: string; claim: string; taken: string }[] {
  const own = { pointer: '/id', claim: `${type} ${id}`, taken: `id ${id} is already used` };
  if (record?.type === 'user') {
    const email = { pointer: '/email', claim: `email ${record.email}`, taken: `email ${record.email} is already used` };
    const service = { pointer: '/service', claim: 'service', taken: 'service is already true for the user' };
    return record.service ? [own, email, service] : [own, email];
  }
  if (record?.type === 'agreement' && record.active) {
    const { company } = record;
    return [
      own,
      { pointer: '/active', claim: `active ${company}`, taken: `company ${company} already has an active agreement` },
    ];
  }
  return [own];
}
