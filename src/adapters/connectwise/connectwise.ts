import * as z from 'zod';
import { DAY_MS, dateIn, startOfDate } from '../../domain/calendar.ts';
import { keysOf } from '../../lib/objects.ts';
import {
  type DirectoryItem,
  type Psa,
  PsaFault,
  type PsaRecord,
  type PsaTime,
  type Send,
  type Shown,
  timeField,
} from '../kit/psa.ts';

// ConnectWise PSA, REST API 3.0. The fields are those of its OpenAPI document of version 2022.1.

/** The two collections of tickets, and the types by which time is charged to them. */
const CHARGE_TYPES = { service: 'ServiceTicket', project: 'ProjectTicket' };
type TicketKind = keyof typeof CHARGE_TYPES;

export interface ConnectWiseSettings {
  timeZone: string;
  /** The site, such as https://api-eu.myconnectwise.net */
  url: string;
  company: string;
  publicKey: string;
  privateKey: string;
  clientId: string;
  /** The identifier of the member on whom automations book time by default. */
  automationMember: string;
  /** Names; without them, ConnectWise takes its defaults. */
  workType?: string | undefined;
  workRole?: string | undefined;
  /** The option of billable time; without it, ConnectWise decides, as the agreement says. */
  billable: 'Billable' | undefined;
}

const PAGE = 1_000;
const MINUTE_MS = 60_000;
/** How long a closed ticket can be written to. */
const CLOSED_MS = 30 * DAY_MS;
/** The statuses after the last approval, and after a rejection. */
const APPROVED = ['ApprovedByTierTwo', 'ReadyToBill', 'Billed', 'BilledAgreement', 'WrittenOff'];
const REJECTED = ['Rejected', 'RejectBySecondTier'];
/** The license class of API members, who cannot sign in. */
const API_LICENSE = 'A';
/** The statuses of a time sheet that its member must submit, again if it was rejected. */
const NOT_SUBMITTED = ['Open', ...REJECTED];
/** The codebase of a site that does not tell its own. */
const DEFAULT_CODEBASE = 'v4_6_release';
/** Another version can have other fields. */
const MEDIA_TYPE = 'application/vnd.connectwise.com+json; version=2022.1';

const id = z.int();
const created = z.object({ id });
/** Null for an unknown company. */
const companyInfo = z.object({ Codebase: z.string().regex(/^\w+\/?$/) }).nullable();
const member = z.object({
  ...{ id, identifier: z.string(), firstName: z.string(), lastName: z.string(), licenseClass: z.string().nullish() },
  ...{ officeEmail: z.string().nullish(), primaryEmail: z.string().nullish() },
});
const company = z.object({ id, name: z.string() });
const ticket = z.object({ id, company: created.nullish() });
const flag = z.boolean().nullish();
const text = z.string().nullish();
const note = z.object({
  // Customers are contacts. Notes of project tickets have no `createdBy`.
  ...{ id, text, member: created.nullish() },
  ...{ internalAnalysisFlag: flag, detailDescriptionFlag: flag, resolutionFlag: flag, externalFlag: flag },
});
const named = z.object({ name: text }).nullish();
const entry = z.object({
  ...{ id, status: text, internalNotes: text, timeStart: text, timeEnd: text, billableOption: text },
  actualHours: z.number().nullish(),
  ...{ member: z.object({ id, identifier: text }).nullish(), workType: named, workRole: named },
});
const fieldsOf = (shape: z.ZodObject) => Object.keys(shape.shape).join(',');
const fault = z.object({
  code: z.string().optional(),
  errors: z.array(z.object({ code: z.string().optional(), field: z.string().optional() })).nullish(),
});

function codesIn(body: unknown): string[] {
  const { code = '', errors } = fault.safeParse(body).data ?? {};
  return [code, ...(errors ?? []).flatMap((one) => [one.code ?? '', one.field ?? ''])];
}

const quoted = (text: string) => `"${text.replaceAll('"', '')}"`;
/** A time without milliseconds, in a body, and in brackets in a condition. */
const instant = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
const isNotFound = (err: unknown) => err instanceof PsaFault && err.status === 404;
const and = (...conditions: string[]) => conditions.filter((one) => one !== '').join(' and ');

/**
 * Which collection has a ticket. Both take their ids from one sequence, as clients expect: django-connectwise stores both in one
 * table by id. A ticket of the other collection is not found (jundis/CWSlack-SlashCommands#134).
 */
function ticketCollections() {
  const kinds = new Map<string, TicketKind>();
  const remember = (id: number | string, kind: TicketKind) => kinds.set(String(id), kind);

  /**
   * Runs a request about a ticket in its collection. A 404 has done nothing, so the other one is tried then: the ticket may
   * have been converted, or was not listed since the start.
   */
  async function inCollection<T>(ticketId: string, run: (kind: TicketKind) => Promise<T>): Promise<T> {
    const attempt = async (kind: TicketKind) => {
      const result = await run(kind);
      remember(ticketId, kind);
      return result;
    };
    const likely = kinds.get(ticketId) ?? 'service';
    try {
      return await attempt(likely);
    } catch (err) {
      if (!isNotFound(err)) throw err;
      return attempt(likely === 'service' ? 'project' : 'service').catch((second: unknown) => {
        throw isNotFound(second) ? err : second;
      });
    }
  }

  /** The kind of a ticket, as ConnectWise has it now. */
  const readKind = (send: Send, ticketId: string): Promise<TicketKind> =>
    inCollection(ticketId, async (kind) => {
      const path = `/${kind}/tickets/${ticketId}`;
      await send({ method: 'GET', path, query: { fields: 'id' }, response: created });
      return kind;
    });
  const kindOf = async (send: Send, ticketId: string) => kinds.get(ticketId) ?? readKind(send, ticketId);

  return { remember, inCollection, readKind, kindOf };
}

export function connectWise(settings: ConnectWiseSettings): Psa {
  let codebase: string | undefined;
  const authorization = `Basic ${btoa(`${settings.company}+${settings.publicKey}:${settings.privateKey}`)}`;

  /** Each page continues after the last id, so a list that changes while it is read loses nothing. */
  async function* pages<Item extends { id: number }>(
    send: Send,
    path: string,
    shape: z.ZodType<Item>,
    { conditions = '', fields }: { conditions?: string; fields: string },
  ): AsyncGenerator<Item[]> {
    for (let last = 0; ; ) {
      const query = { conditions: and(conditions, `id > ${last}`), fields, orderBy: 'id asc', pageSize: String(PAGE) };
      const items: Item[] = await send({ method: 'GET', path, query, response: z.array(shape) });
      yield items;
      if (items.length < PAGE) return;
      last = items.at(-1)?.id ?? last;
    }
  }
  async function all<Item extends { id: number }>(...args: Parameters<typeof pages<Item>>): Promise<Item[]> {
    const items: Item[] = [];
    for await (const page of pages(...args)) items.push(...page);
    return items;
  }

  const members = (send: Send) =>
    all(send, '/system/members', member, {
      conditions: 'inactiveFlag = false',
      fields: 'id,identifier,firstName,lastName,licenseClass,officeEmail,primaryEmail',
    });
  const emailOf = ({ officeEmail, primaryEmail }: z.output<typeof member>) => officeEmail || primaryEmail;
  const isAutomation = ({ identifier }: z.output<typeof member>) =>
    identifier.toLowerCase() === settings.automationMember.toLowerCase();

  const { remember, inCollection, readKind, kindOf } = ticketCollections();
  const notesOf = (kind: TicketKind, ticketId: string) => `/${kind}/tickets/${ticketId}/notes`;
  /** Runs a request about a record that ConnectWise has. */
  const atPath = <T>(
    { kind, ticketId }: Pick<PsaRecord, 'kind' | 'ticketId'>,
    psaId: string,
    run: (path: string) => Promise<T>,
  ): Promise<T> =>
    kind === 'note'
      ? inCollection(ticketId, (of) => run(`${notesOf(of, ticketId)}/${psaId}`))
      : run(`/time/entries/${psaId}`);
  const noteText = ({ text, mark }: PsaRecord) => `${text}\n\n${mark}`;
  const endsWith = (text: string | null | undefined, mark: string) => text?.trimEnd().endsWith(mark) === true;

  const noteBody = (record: PsaRecord) => ({
    text: noteText(record),
    // Internal. The other two flags show a note to customers.
    ...{ internalAnalysisFlag: true, detailDescriptionFlag: false, resolutionFlag: false },
    // No email.
    ...{ processNotifications: false, customerUpdatedFlag: false },
  });

  /** The time ends when the record was written, unless it would then begin on the day before. */
  const startOf = ({ createdAt, minutes, workDate }: PsaTime) =>
    Math.max(Date.parse(createdAt) - minutes * MINUTE_MS, startOfDate(workDate.slice(0, 10), settings.timeZone));
  const billableOptionOf = ({ billable }: PsaTime) => (billable ? settings.billable : 'DoNotBill');

  const timeBody = (record: PsaTime, kind: TicketKind) => {
    const [start, billableOption] = [startOf(record), billableOptionOf(record)];
    return {
      ...{ chargeToId: Number(record.ticketId), chargeToType: CHARGE_TYPES[kind] },
      member: /^\d+$/.test(record.userId) ? { id: Number(record.userId) } : { identifier: settings.automationMember },
      ...{ timeStart: instant(start), timeEnd: instant(start + record.minutes * MINUTE_MS) },
      ...(billableOption && { billableOption }),
      ...(settings.workType && { workType: { name: settings.workType } }),
      ...(settings.workRole && { workRole: { name: settings.workRole } }),
      // Invoices can show the notes, so the mark is not there.
      ...{ notes: record.text, internalNotes: record.mark },
      ...{ addToDetailDescriptionFlag: false, addToInternalAnalysisFlag: false, addToResolutionFlag: false },
      ...{ emailContactFlag: false, emailResourceFlag: false, emailCcFlag: false },
    };
  };

  /** The field of a name that the adapter sends; none without one. */
  const namedField = (name: string, sent: string | undefined, got: z.output<typeof named>, repair: string) =>
    sent ? [timeField(name, sent, got?.name, repair)] : [];

  const shownNote = (found: z.output<typeof note>): Shown => ({
    ...{ psaId: String(found.id), author: found.member ? String(found.member.id) : '', fields: [] },
    isPrivate:
      found.internalAnalysisFlag === true &&
      !(found.detailDescriptionFlag || found.resolutionFlag || found.externalFlag),
  });

  const shownTime = (record: PsaTime, found: z.output<typeof entry>): Shown => {
    const isMember = /^\d+$/.test(record.userId);
    const { id, identifier } = found.member ?? {};
    const [start, end] = [Date.parse(found.timeStart ?? ''), Date.parse(found.timeEnd ?? '')];
    const [option, sentStart] = [billableOptionOf(record), instant(startOf(record))];
    const [member, credited] = isMember
      ? [record.userId, id]
      : [settings.automationMember.toLowerCase(), identifier?.toLowerCase()];
    // What is charged. Start and end are ours, even if ConnectWise rounds.
    const actual = typeof found.actualHours === 'number' ? Math.round(60 * found.actualHours) : undefined;
    const day = Number.isNaN(start) ? undefined : dateIn(settings.timeZone, start);
    const fields = [
      timeField('technician', member, credited, 'Let the API member enter time for other members.'),
      timeField('date', record.workDate.slice(0, 10), day, 'Check TIME_ZONE.'),
      timeField('minutes', record.minutes, Math.round((end - start) / MINUTE_MS), 'Turn off the rounding of time.'),
      timeField('actual minutes', record.minutes, actual, 'Turn off the rounding of time.'),
      timeField('start', sentStart, found.timeStart, 'Check the time zone of the member.'),
      ...(option ? [timeField('billing', option, found.billableOption, 'Give Time Entry Billable Option: All.')] : []),
      ...namedField('work type', settings.workType, found.workType, 'Check CW_WORK_TYPE.'),
      ...namedField('work role', settings.workRole, found.workRole, 'Check CW_WORK_ROLE.'),
      timeField('status', 'Open', found.status, 'Turn off what approves new time.'),
    ];
    // Customers do not see time entries.
    return { psaId: String(found.id), author: '', isPrivate: true, fields };
  };

  return {
    name: 'ConnectWise PSA',
    account: `${settings.company}+${settings.publicKey}`,
    baseUrl: () => (codebase === undefined ? settings.url : `${settings.url}/${codebase}/apis/3.0`),
    headers: () => ({ Authorization: authorization, clientId: settings.clientId, Accept: MEDIA_TYPE }),

    /**
     * The path of the API contains the codebase of the company. A new version can change it: then the old path gets 404, after
     * which django-connectwise asks again, too. A 404 of the API itself has a code.
     */
    async prepare(send, fault) {
      if (fault ? !isNotFound(fault) || fault.codes.length > 0 : codebase !== undefined) return false;
      const before = codebase;
      codebase = undefined;
      const path = `/login/companyinfo/${encodeURIComponent(settings.company)}`;
      const found = await send({ method: 'GET', path, response: companyInfo }).catch((err: unknown) => {
        if (isNotFound(err)) return undefined;
        throw err;
      });
      if (found === null)
        throw new PsaFault('denied', `GET ${path} knows no such company: check CW_COMPANY and CW_URL`);
      codebase = found?.Codebase.replace('/', '') ?? DEFAULT_CODEBASE;
      return codebase !== before;
    },

    // The limit may be shared with other tools.
    paceMs: 1_000,
    // No limit is known.
    maxTimeText: Number.POSITIVE_INFINITY,

    codesIn,
    /** A 404 without a code comes from what is in front of the API, such as a page during maintenance. */
    judge: (status, body) => (status === 404 && codesIn(body).every((code) => code === '') ? 'later' : undefined),

    async people(send) {
      const users = (await members(send)).flatMap((one): DirectoryItem[] => {
        const email = emailOf(one);
        const service = isAutomation(one);
        // An API member is not a person.
        if (!email || (one.licenseClass === API_LICENSE && !service)) return [];
        const name = `${one.firstName} ${one.lastName}`;
        return [{ type: 'user', id: String(one.id), email, name, service, technician: !service }];
      });
      const list = { conditions: 'deletedFlag = false', fields: 'id,name' };
      const companies = await all(send, '/company/companies', company, list);
      return [...users, ...companies.map(({ id, name }) => ({ type: 'company' as const, id: String(id), name }))];
    },

    async *tickets(send, since, now) {
      const conditions = since
        ? `lastUpdated >= [${instant(since.getTime())}]`
        : `(closedFlag = false or closedDate >= [${instant(now.getTime() - CLOSED_MS)}])`;
      for (const kind of keysOf(CHARGE_TYPES))
        for await (const page of pages(send, `/${kind}/tickets`, ticket, { conditions, fields: 'id,company' })) {
          for (const { id } of page) remember(id, kind);
          yield page.flatMap(({ id, company }): DirectoryItem[] =>
            company ? [{ type: 'ticket', id: String(id), company: String(company.id) }] : [],
          );
        }
    },

    async create(send, record) {
      const { ticketId } = record;
      const post = async (path: string, body: object) =>
        String((await send({ method: 'POST', path, body, response: created })).id);
      if (record.kind === 'note')
        return inCollection(ticketId, (kind) => post(notesOf(kind, ticketId), noteBody(record)));
      return post('/time/entries', timeBody(record, await kindOf(send, ticketId)));
    },

    async find(send, record) {
      const { ticketId, mark } = record;
      if (record.kind === 'note') {
        // The notes of a ticket of the other collection may be an empty list, and not a 404.
        const path = notesOf(await readKind(send, ticketId), ticketId);
        const notes = await all(send, path, note, { fields: fieldsOf(note) });
        return notes.filter(({ text }) => endsWith(text, mark)).map(shownNote);
      }
      const types = Object.values(CHARGE_TYPES).map(quoted);
      const conditions = `chargeToId = ${Number(ticketId)} and chargeToType in (${types})`;
      const entries = await all(send, '/time/entries', entry, { conditions, fields: fieldsOf(entry) });
      return entries.filter((one) => endsWith(one.internalNotes, mark)).map((one) => shownTime(record, one));
    },

    read: (send, record, psaId) =>
      atPath(record, psaId, async (path) =>
        record.kind === 'note'
          ? shownNote(await send({ method: 'GET', path, response: note }))
          : shownTime(record, await send({ method: 'GET', path, response: entry })),
      ),

    async remove(send, record, psaId) {
      await atPath(record, psaId, (path) => send({ method: 'DELETE', path, response: z.unknown() }));
    },

    async redact(send, record, psaId) {
      const [field, value] = record.kind === 'note' ? ['text', noteText(record)] : ['notes', record.text];
      const body = [{ op: 'replace', path: field, value }];
      await atPath(record, psaId, (path) => send({ method: 'PATCH', path, body, response: created }));
    },

    async reviews(send, since) {
      const statuses = [...APPROVED, ...REJECTED].map(quoted);
      const conditions = `status in (${statuses}) and lastUpdated >= [${instant(since.getTime())}]`;
      const entries = await all(send, '/time/entries', entry, { conditions, fields: 'id,status' });
      return entries.map(({ id, status }) => ({
        psaId: String(id),
        decision: REJECTED.includes(status ?? '') ? ('REJECTED' as const) : ('APPROVED' as const),
      }));
    },

    time: {
      settings: [
        ...[settings.url, settings.company, settings.timeZone, settings.automationMember],
        ...[settings.workType, settings.workRole, settings.billable],
      ],
      rights: {
        create: 'Give Time Entry, Add: All, and Time Entry Billable Option, Add: All.',
        read: 'Give Time Entry, Inquire: All.',
        remove: 'Give Time Entry, Delete: All.',
      },
    },

    async *checks(send) {
      const found = await members(send);
      yield `the keys work with codebase ${codebase}, and list ${found.length} members`;
      const automation = found.find(isAutomation);
      if (!automation || !emailOf(automation))
        throw new Error(`There is no active member ${settings.automationMember} with an email address.`);
      if (automation.licenseClass === API_LICENSE)
        throw new Error(
          `${settings.automationMember} is an API member, which cannot submit time sheets. CW_AUTOMATION_MEMBER has to name a full member.`,
        );
      yield `the member ${settings.automationMember} exists, and can submit its time sheets`;
      const named = async (path: string, name: string | undefined) => {
        if (!name) return;
        const query = { conditions: `name = ${quoted(name)}`, fields: 'id' };
        const [one] = await send({ method: 'GET', path, query, response: z.array(created) });
        if (!one) throw new Error(`GET ${path} lists no ${name}.`);
      };
      await named('/time/workTypes', settings.workType);
      await named('/time/workRoles', settings.workRole);
      yield 'work type and work role exist, or are the defaults';
      for (const path of ['/company/companies', '/service/tickets', '/project/tickets', '/time/entries']) {
        await send({ method: 'GET', path, query: { fields: 'id', pageSize: '1' }, response: z.array(created) });
        yield `the role reads ${path}`;
      }
      const last = { fields: 'id', orderBy: 'id desc', pageSize: '100' };
      const projects = await send({ method: 'GET', path: '/project/tickets', query: last, response: z.array(created) });
      if (projects.length > 0) {
        const query = { conditions: `id in (${projects.map(({ id }) => id)})`, fields: 'id' };
        const [both] = await send({ method: 'GET', path: '/service/tickets', query, response: z.array(created) });
        if (both)
          throw new Error(`Ticket ${both.id} is a service ticket and a project ticket: notes could mix them up.`);
      }
      yield 'no id is one of a service ticket and of a project ticket';
      const conditions = `member/id = ${automation.id} and status in (${NOT_SUBMITTED.map(quoted)})`;
      const { length } = await all(send, '/time/sheets', created, { conditions, fields: 'id' });
      yield `time sheets of ${settings.automationMember} that are not submitted: ${length}`;
    },
  };
}
