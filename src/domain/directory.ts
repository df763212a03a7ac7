import * as z from 'zod';
import { isTimeZone } from './calendar.ts';
import { DIRECTORY_ID } from './directory-id.ts';
import { echo, emailAddress, type FieldError, fieldErrors, freeText, record, says } from './fields.ts';
import { hourlyRate } from './money.ts';

const id = (what: string) => {
  const error = says(`the id of ${what}: 1 to 64 letters, digits or . _ ~ -`);
  return z.string({ error }).regex(DIRECTORY_ID, { error });
};
const flag = () => z.boolean({ error: says('true or false') });
const active = flag().default(true);
const name = freeText(200);
const organization = id('an organization');

/** The records of a directory, one JSON object on each line of the file. Rates come out in minor units, addresses in lower case. */
const shapes = {
  organization: record({
    type: z.literal('organization'),
    id: id('the organization'),
    name,
    psa: flag(),
    timeZone: z.string({ error: says('an IANA time zone such as Europe/Berlin') }).refine(isTimeZone, {
      error: says('an IANA time zone such as Europe/Berlin'),
    }),
    defaultHourlyRate: hourlyRate(),
    active,
  }),
  user: record({
    type: z.literal('user'),
    organization,
    id: id('the user'),
    email: emailAddress('an e-mail address'),
    name,
    admin: flag().default(false),
    technician: flag().default(false),
    service: flag().default(false),
    active,
  }).refine(({ service, admin, technician, active }) => !service || (active && !admin && !technician), {
    path: ['service'],
    error: 'was true; a service account is always active and neither admin nor technician',
  }),
  company: record({ type: z.literal('company'), organization, id: id('the company'), name, active }),
  agreement: record({
    type: z.literal('agreement'),
    organization,
    id: id('the agreement'),
    company: id('a company'),
    hourlyRate: hourlyRate(),
    active,
  }),
  ticket: record({ type: z.literal('ticket'), organization, id: id('the ticket'), company: id('a company'), active }),
};

type RecordType = keyof typeof shapes;
const TYPES = Object.keys(shapes).join(', ');

export type DirectoryOrganization = z.output<typeof shapes.organization>;
export type DirectoryUser = z.output<typeof shapes.user>;
export type DirectoryCompany = z.output<typeof shapes.company>;
export type DirectoryAgreement = z.output<typeof shapes.agreement>;
export type DirectoryTicket = z.output<typeof shapes.ticket>;
export type DirectoryRecord = DirectoryOrganization | DirectoryUser | DirectoryCompany | DirectoryAgreement | DirectoryTicket;

/** A record and the line (from 1) it stands on. */
export type DirectoryLine = { line: number; record: DirectoryRecord };

/** One thing wrong with a line; `subject` names the record as far as it could be read, such as `user ada`. */
export interface DirectoryError extends FieldError {
  line: number;
  subject: string;
}

/** Reads newline-delimited JSON; empty lines are passed over. All errors of all lines are found, those between records too. */
export function parseDirectory(text: string): { lines: DirectoryLine[]; errors: DirectoryError[] } {
  const lines: DirectoryLine[] = [];
  const errors: DirectoryError[] = [];
  for (const [index, source] of text.split('\n').entries()) {
    if (source.trim() === '') continue;
    const parsed = parseRecord(source);
    if (parsed.ok) lines.push({ line: index + 1, record: parsed.record });
    else errors.push(...parsed.errors.map((error) => ({ ...error, line: index + 1, subject: parsed.subject })));
  }
  return { lines, errors: [...errors, ...conflicts(lines)].sort((a, b) => a.line - b.line) };
}

type Parsed = { ok: true; record: DirectoryRecord } | { ok: false; subject: string; errors: FieldError[] };

function parseRecord(source: string): Parsed {
  const refused = (pointer: string, code: string, detail: string): Parsed => ({
    ok: false,
    subject: 'record',
    errors: [{ pointer, code, detail }],
  });
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    return refused('', 'malformed_json', 'the line is not a JSON object');
  }
  const head = z.looseObject({ type: z.enum(Object.keys(shapes) as [RecordType, ...RecordType[]]), id: z.unknown() }).safeParse(value);
  if (!head.success) return refused('/type', 'invalid_value', `type is not one of ${TYPES}`);
  const { type, id } = head.data;
  const result = shapes[type].safeParse(value);
  if (result.success) return { ok: true, record: result.data };
  return { ok: false, subject: typeof id === 'string' ? `${type} ${echo(id)}` : type, errors: fieldErrors(result.error) };
}

/** What no two records of one file may both claim: an id, an e-mail address, being the service account, a company's active agreement. */
function conflicts(lines: DirectoryLine[]): DirectoryError[] {
  const claimed = new Map<string, number>();
  const errors: DirectoryError[] = [];
  for (const { line, record } of lines) {
    for (const { pointer, claim, says } of claims(record)) {
      const first = claimed.get(claim);
      if (first === undefined) claimed.set(claim, line);
      else errors.push({ line, subject: `${record.type} ${record.id}`, pointer, code: 'conflict', detail: `${says} on line ${first}` });
    }
  }
  return errors;
}

function claims(record: DirectoryRecord): { pointer: string; claim: string; says: string }[] {
  const owner = record.type === 'organization' ? record.id : record.organization;
  const own = { pointer: '/id', claim: JSON.stringify([owner, record.type, record.id]), says: `id ${record.id} stands already` };
  if (record.type === 'user') {
    const email = {
      pointer: '/email',
      claim: JSON.stringify([owner, 'email', record.email]),
      says: `email ${record.email} stands already`,
    };
    const service = { pointer: '/service', claim: JSON.stringify([owner, 'service']), says: 'service is true already for another user' };
    return record.service ? [own, email, service] : [own, email];
  }
  if (record.type === 'agreement' && record.active) {
    return [
      own,
      {
        pointer: '/active',
        claim: JSON.stringify([owner, 'agreement', 'of', record.company]),
        says: `company ${record.company} has an active agreement already`,
      },
    ];
  }
  return [own];
}
