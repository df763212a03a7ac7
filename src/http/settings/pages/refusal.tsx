import { dayLimitId, type ExceededDayLimit } from '../../../domain/day-limit.ts';
import { FACTS } from '../../../domain/facts.ts';
import { fieldRule } from '../../../domain/refused-request.ts';
import { limitField, type RefusedUseReason } from '../../../domain/refused-use.ts';
import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { PROBLEMS, type ProblemCode } from '../../problems.ts';
import { usePage } from '../page-context.ts';
import { Address, formatNumber } from './components.tsx';

/** The reasons in words, except for those that have only the title of the caller's error. */
const REFUSAL_REASONS: Partial<Record<string, string>> = {
  revoked: 'The key is revoked',
  expired: 'The key has expired',
  scope_missing: 'The key lacks the required scope',
  address_not_allowed: 'The address is outside the allowed networks',
  company_not_allowed: 'The key is not for the company of the ticket',
  organization_inactive: 'The organization is not active',
  daily_limit_reached: 'A daily limit was reached',
  ticket_not_found: 'The ticket is unknown or closed',
  idempotency_mismatch: 'An Idempotency-Key was reused',
} satisfies Partial<Record<RefusedUseReason, string>>;

/** What to do about each reason. */
const ADVICE: Partial<Record<string, string>> = {
  revoked: FACTS.refused_revoked.advice,
  expired: 'Create its replacement, and enter that in the automation.',
  scope_missing: FACTS.refused_scope_missing.advice,
  address_not_allowed: FACTS.refused_address_not_allowed.advice,
  daily_limit_reached: FACTS.refused_daily_limit_reached.advice,
  idempotency_mismatch: FACTS.refused_idempotency_mismatch.advice,
  company_not_allowed: 'If the key is for this company too, add it.',
  organization_inactive: 'Ask the provider of your PSA to activate the organization.',
  psa_not_included: 'Ask the provider of your PSA to turn write-back on.',
  ticket_not_found: 'Check the id, and whether the ticket is open in your PSA.',
  technician_not_eligible: 'Correct the address, or activate them in the PSA.',
  not_found: 'The URL is wrong; often the ticket id in it is empty.',
  method_not_allowed: 'Correct the method: a write is a POST.',
  malformed_json: 'Escape quotes and line breaks in the JSON.',
  invalid_encoding: 'Send the body as UTF-8.',
  unsupported_media_type: 'Send the header Content-Type: application/json.',
  body_too_large: 'Shorten the text.',
  invalid_idempotency_key: 'Build the Idempotency-Key from the id of the event, such as triage:4711.',
  validation_failed: 'Correct these fields.',
  rate_limited: 'Send fewer requests, or wait as long as Retry-After says.',
} satisfies Record<RefusedUseReason, string> & Partial<Record<ProblemCode, string>>;

const isProblem = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

/** A reason in words. */
export function reasonText(code: string, dayLimit: ExceededDayLimit | null = null): string {
  if (dayLimit !== null) {
    const whose = dayLimit.name === 'key-day' ? 'key’s' : 'organization’s';
    return `The ${whose} daily limit of ${MEASURES[dayLimit.what]} was reached`;
  }
  return REFUSAL_REASONS[code] ?? (isProblem(code) ? PROBLEMS[code].title : code);
}

const MEASURES = { records: 'new records', minutes: 'minutes', bytes: 'text' };

/** The reason of lost writes, which get a 200. */
export const LOST = 'idempotency_mismatch' satisfies RefusedUseReason;

/** The status of the response that requests get for a reason, or `Lost`: a lost write gets 200, or 409 if it asks for that. */
export function statusOf(reason: string): number | 'Lost' {
  if (reason === LOST) return 'Lost';
  if (isProblem(reason)) return PROBLEMS[reason].status;
  return reason === 'company_not_allowed' ? PROBLEMS.ticket_not_found.status : 401;
}

/** After a number of lost writes that is a lower bound. */
export const MORE_LOST = 'More may be missing: compare the automation’s runs.';

/** What to do about a refusal. Only the operator can raise a limit that is not of one key. */
export function adviceOf({ reason, key, dayLimit }: Pick<Refusal, 'reason' | 'key' | 'dayLimit'>): string | undefined {
  if (dayLimit?.isOwn === false) return 'The operator of this service can raise this limit.';
  if (replacedFor(reason) && key.successorId !== null)
    return `Enter its successor in the automation${reason === 'scope_missing' ? ', if that has the scope' : ''}.`;
  return ADVICE[reason];
}

/** A refused request, or the refused uses of a key for one reason. */
type Refusal = Pick<
  RefusedRequest,
  'key' | 'reason' | 'sourceAddress' | 'companyId' | 'company' | 'isAllowedNow' | 'dayLimit'
> &
  Others;

/** The other addresses or companies of refused uses that the key still refuses. */
type Others = Partial<Pick<RefusedUse, 'stillRefused' | 'isLastAllowed'>>;

/** The same for refusals that the same repair is for. */
export const repairId = ({ key, reason, sourceAddress, companyId, dayLimit }: Refusal) =>
  [
    key.id,
    reason,
    reason === 'address_not_allowed' && sourceAddress,
    reason === 'company_not_allowed' && companyId,
    dayLimit && dayLimitId(dayLimit),
  ].join(' ');

/** The program that sent a request: the first word of its User-Agent. */
export const programIn = ({ userAgent }: Pick<RefusedRequest, 'userAgent'>) => userAgent?.split(' ', 1)[0];

interface Way {
  text: string;
  /** Below the organization's base path. */
  path: string;
  /** A value of the request, for the form at the path. */
  posted?: { name: 'allow' | 'addCompany'; value: string };
}

/** Whether a new key in the place of the refused one repairs this. */
export const replacedFor = (reason: string) => ['expired', 'revoked', 'scope_missing'].includes(reason);

/** What repairs a refusal, if a page can lead to it. */
export function repairOf(refusal: Refusal): Way | undefined {
  const { key, reason, isAllowedNow, dayLimit, isLastAllowed = false, stillRefused = [] } = refusal;
  if (replacedFor(reason))
    return key.successorId === null
      ? { text: 'Create its replacement', path: `/keys/${key.id}/replace` }
      : { text: 'Open its successor', path: `/keys/${key.successorId}` };
  if (reason === LOST) return { text: 'See the writes', path: `/keys/${key.id}#lost` };
  if (key.isRevoked || isAllowedNow) return undefined;
  const change = `/keys/${key.id}/change`;
  if (reason === 'daily_limit_reached') {
    return dayLimit?.isOwn ? { text: 'Raise the limit', path: `${change}#${limitField(dayLimit)}` } : undefined;
  }
  const { sourceAddress, companyId, company } = (isLastAllowed && stillRefused[0]) || refusal;
  if (reason === 'address_not_allowed' && sourceAddress !== null) {
    const posted = { name: 'allow', value: sourceAddress } as const;
    return { text: isLastAllowed ? 'Allow the next address' : 'Allow this address', path: change, posted };
  }
  if (reason === 'company_not_allowed' && companyId !== null) {
    const posted = { name: 'addCompany', value: companyId } as const;
    return { text: `Add ${company ?? 'the company'}`, path: change, posted };
  }
  return undefined;
}

/**
 * What repairs a refusal, if this page can lead to it. Each shows first what it is about to do, and the forms that need a
 * value of the request are posted: any site can lead to a link with a value of its own.
 */
export function Repair({ refusal, kind }: { refusal: Refusal; kind: 'actions' | 'row' }) {
  const { base } = usePage();
  const way = repairOf(refusal);
  if (!way) return null;
  const { text, path, posted } = way;
  if (posted) {
    return (
      <form method="post" action={`${base}${path}`} class={kind}>
        <button type="submit" {...posted} class="quiet">
          {text}
        </button>
      </form>
    );
  }
  return (
    <div class={kind}>
      <a class="button quiet" href={`${base}${path}`}>
        {text}
      </a>
    </div>
  );
}

type Specifics = Pick<RefusedRequest, 'userEmail' | 'technician' | 'dayLimit' | 'count'> &
  Others & { pointers?: readonly string[] };

/** How many other addresses or companies are named. */
const SHOWN_OTHERS = 3;

/** What was refused: the last fields, the technician with the name that belongs to the address, the limit, and what else. */
export const RefusedPart = ({
  refusal: { pointers = [], userEmail, technician, dayLimit, count, isLastAllowed, stillRefused = [] },
}: {
  refusal: Specifics;
}) => (
  <>
    {pointers.length > 0 && (
      <div class="minor">
        {count > 1 ? 'Last fields' : 'Fields'}: {pointers.map(fieldText).join(', ')}
      </div>
    )}
    {userEmail !== null && (
      <div class="minor">
        {count > 1 && 'Last: '}
        <bdi>{userEmail}</bdi>:{' '}
        {technician === null ? 'no user has this address' : [<bdi>{technician}</bdi>, ' was not an active technician']}
      </div>
    )}
    {dayLimit && <div class="minor">{limitText(dayLimit)}</div>}
    {stillRefused.length > 0 && (
      <div class="minor">
        {isLastAllowed ? 'Still' : 'Also'} refused:{' '}
        {stillRefused
          .slice(0, SHOWN_OTHERS)
          .map(({ companyId, company, sourceAddress }, index) => [
            index > 0 && ', ',
            companyId ? <bdi>{company}</bdi> : <Address address={sourceAddress ?? ''} />,
          ])}
        {stillRefused.length > SHOWN_OTHERS && ` and ${formatNumber(stillRefused.length - SHOWN_OTHERS)} more`}
      </div>
    )}
  </>
);

/** A refused field with what it accepts: the request did not have that. */
export function fieldText(pointer: string): string {
  if (pointer === '/?') return 'a field that is not accepted there';
  if (pointer === '') return 'the whole body';
  const rule = fieldRule(pointer);
  return pointer.slice(1) + (rule === undefined ? '' : ` (${rule})`);
}

export function limitText({ what, limit, used, added }: ExceededDayLimit): string {
  const amount = (number: number) =>
    what === 'bytes' ? `${formatNumber(number / 1_000_000)} MB` : formatNumber(number);
  const unit = what === 'bytes' ? '' : ` ${MEASURES[what]}`;
  return `${amount(used)} of ${amount(limit)}${unit} used; the last request asked for ${amount(added)}.`;
}
