import { auditActionLabel } from '../../../domain/audit-actions.ts';
import { dateIn, dateText } from '../../../domain/calendar.ts';
import { APPROVAL_DECISIONS, RECORD_KIND_NAMES } from '../../../domain/record-kinds.ts';
import type { AuditEntry } from '../../../services/audit/read-audit-log.ts';
import { Icon, type IconName } from '../../page/icon.tsx';
import { addressOf, usePage } from '../page-context.ts';
import { Address, counted, formatNumber, money, SCOPE_ICONS } from './components.tsx';
import { KeyName, KeysOf } from './key-facts.tsx';
import { clockTime, utcText } from './time.tsx';
import { DECISIONS } from './time-table.tsx';

/** An entry with as much of its text as the page or file shows. */
export type ShownEntry = AuditEntry & { isCut: boolean };

interface Props {
  entries: readonly ShownEntry[];
  /** Leaves out who acted if it is this key. */
  keyId?: string | undefined;
  /** Whether the details of an entry are shown. */
  isOpen?: (entry: AuditEntry) => boolean;
  /** Whether they are below a heading of the second level. */
  isSection?: boolean;
}

/** Audit entries by day, newest first. The whole line of an entry opens its details, even without script. */
export function AuditEntries({ entries, keyId, isOpen, isSection = false }: Props) {
  const { timeZone } = usePage();
  const Heading = isSection ? 'h3' : 'h2';
  return (
    <div class="sheet log">
      {Array.from(
        Map.groupBy(entries, ({ at }) => dateIn(timeZone, at)),
        ([day, ofDay]) => (
          <section>
            <Heading>{dayText(day)}</Heading>
            <ol>
              {ofDay.map((entry) => (
                <li>
                  <details open={isOpen?.(entry)}>
                    <Line entry={entry} keyId={keyId} />
                    <Details entry={entry} />
                  </details>
                </li>
              ))}
            </ol>
          </section>
        ),
      )}
    </div>
  );
}

/** A calendar date as a heading: `Saturday 21 November 2026`. */
const dayText = (day: string) =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' }).format(Date.parse(day)).replace(',', '');

/** The event in words, by the last part of the action. */
const ICONS: Record<string, IconName> = {
  created: 'key',
  changed: 'pen',
  redacted: 'pen',
  rotated: 'rotate',
  revoked: 'ban',
  refused: 'ban',
  rejected: 'ban',
};

/** How much of a text is on the line of its entry; the style cuts it at the width of the column. */
const SUMMARY_LENGTH = 120;

/** What the PSA did, in the words that fit the column: the icon has the kind. */
const BY_PSA: Record<string, string> = { refused: 'Refused by', taken: 'Now in' };

/** The entries of decisions, which say themselves what was decided, by whom and when. */
const OF_A_DECISION = /\.(?:approved|rejected)$/;

/** `30 min, billable, at 150.00/h, credited to Tess, approved by Ada on 23 Nov 2026`. */
function timeText(
  { minutes, ...time }: NonNullable<AuditEntry['time']>,
  timeZone: string,
  isDecision: boolean,
): string {
  const { billable, hourlyRateMinor, technician, status, decidedBy, decidedAt } = time;
  const by =
    decidedBy === null || decidedAt === null ? '' : ` by ${decidedBy} on ${dateText(dateIn(timeZone, decidedAt))}`;
  const parts = [
    `${minutes} min`,
    billable ? `billable, at ${money(hourlyRateMinor)}/h` : 'not billable',
    `credited to ${technician}`,
    ...(status === 'SUBMITTED' || isDecision ? [] : [`${status.toLowerCase()}${by}`]),
  ];
  return parts.join(', ');
}

/** How much of an entry's text there is, if that is not all: `2,000 of 31,991 characters`. */
export const cutText = ({ isCut, textLength }: ShownEntry, shown: number) =>
  isCut ? `${formatNumber(shown)} of ${counted(textLength ?? 0, 'character')}` : null;

/** On the page of a key, the line leaves out what that page is about. */
function Line({ entry, keyId }: { entry: AuditEntry; keyId: string | undefined }) {
  const { psa, timeZone } = usePage();
  const { action, actorType, actorId, actorName, at, ticketId, key, time, text, detail, refusal } = entry;
  const [subject, what = ''] = action.split('.');
  const kind = RECORD_KIND_NAMES.find((one) => one === subject);
  const isOwn = actorId === keyId;
  // The detail of a new key begins with its name.
  const rest = `${detail}, `.startsWith(`${key?.name}, `) ? detail?.slice(`${key?.name}, `.length) : undefined;
  const isOfPage = key?.id === keyId;
  const words = [
    actorType !== 'api_key' && rest === undefined && !isOfPage && key?.name,
    time && timeText(time, timeZone, OF_A_DECISION.test(action)),
  ].filter(Boolean);
  // An open entry has these below its line.
  const said = [text?.slice(0, SUMMARY_LENGTH), isOfPage ? (rest ?? detail) : detail].filter(Boolean);
  return (
    <summary>
      <time title={utcText(at)}>{clockTime(at, timeZone)}</time>
      <span class="chip">
        <Icon name={kind && what === 'created' ? SCOPE_ICONS[kind] : (ICONS[what] ?? 'check')} kind={kind ?? ''} />
        {BY_PSA[what] ? (
          <>
            {BY_PSA[what]} <bdi>{psa}</bdi>
          </>
        ) : (
          auditActionLabel(action)
        )}
      </span>
      <span class="ticket-id">{ticketId}</span>
      <span class="who">
        {!isOwn && <bdi>{actorName}</bdi>}
        {actorType === 'api_key' && key?.revoked && !isOwn && <span class="mark"> revoked</span>}
      </span>
      <span class="line">
        {refusal !== null && (
          <strong class="mark">
            Refused by <bdi>{psa}</bdi>{' '}
          </strong>
        )}
        {[...words, ...said].map((part, index) => (
          <span class={index < words.length ? undefined : 'said'}>
            {index > 0 && ': '}
            <bdi>{part}</bdi>
          </span>
        ))}
      </span>
    </summary>
  );
}

/** The whole text, who did it from where, and the ids. */
function Details({ entry }: { entry: ShownEntry }) {
  const { base, psa } = usePage();
  const { key, text, sourceAddress, detail, refusal } = entry;
  const facts = [
    ['Key', key && <KeyName subject={key} />],
    [
      'From',
      sourceAddress && (
        <KeysOf search={sourceAddress}>
          <Address address={sourceAddress} />
        </KeysOf>
      ),
    ],
    ['Record', entry.targetId],
    ['Request', entry.requestId],
    ['Idempotency-Key', entry.idempotencyKey],
    ['User-Agent', entry.userAgent],
  ] as const;
  return (
    <div class="entry">
      <div>
        {text !== null && <p class="text">{text}</p>}
        {entry.isCut && (
          <p class="minor">
            {cutText(entry, (text?.length ?? 1) - 1)}. <a href={`${base}/audit?q=${entry.targetId}`}>Show all</a>
          </p>
        )}
        {detail && (
          <p>
            <bdi>{detail}</bdi>
          </p>
        )}
        {refusal !== null && (
          <p>
            <strong class="mark">
              Refused by <bdi>{psa}</bdi>:
            </strong>{' '}
            <bdi>{refusal}</bdi>
          </p>
        )}
        {text !== null && <EntryActions entry={entry} />}
      </div>
      <div>
        <dl>
          {facts.map(
            ([name, value]) =>
              value && (
                <>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </>
              ),
          )}
        </dl>
        {text === null && <EntryActions entry={entry} />}
      </div>
    </div>
  );
}

/** Whether the entry is of time that waits for a decision here. */
export const canDecide = ({ time }: AuditEntry) => time?.status === 'SUBMITTED' && time.approvals === 'settings';

/** Whether the entry waits for a decision, and the ways on from it. */
function EntryActions({ entry }: { entry: AuditEntry }) {
  const { actorType, actorId, actorName, ticketId, time, targetId, refusal } = entry;
  const { base, psa, linkTo } = usePage();
  const waits = canDecide(entry)
    ? 'Waits for approval'
    : time?.status === 'SUBMITTED' && actorType === 'api_key' && refusal === null && ['Waits in ', <bdi>{psa}</bdi>];
  return (
    <>
      {waits && <p>{waits}</p>}
      <div class="actions">
        {canDecide(entry) &&
          APPROVAL_DECISIONS.map((decision) => (
            <a class="button quiet" href={addressOf(`${base}/time/decide`, { selected: decision, entry: targetId })}>
              {DECISIONS[decision].verb}
            </a>
          ))}
        {ticketId !== null && linkTo && (
          <a class="button quiet" href={linkTo(ticketId)} rel="noreferrer">
            Open in PSA
          </a>
        )}
        {ticketId !== null && (
          <a class="button quiet" href={`${base}/audit?ticket=${encodeURIComponent(ticketId)}`}>
            All entries of this ticket
          </a>
        )}
        {actorType === 'user' && (
          <a class="button quiet" href={`${base}/audit?by=${encodeURIComponent(actorId)}`}>
            <span>
              All entries by <bdi>{actorName}</bdi>
            </span>
          </a>
        )}
      </div>
    </>
  );
}
