import { isLive } from '../../../domain/api-key.ts';
import { DAY_MS, dateIn } from '../../../domain/calendar.ts';
import { type DayLimit, lower } from '../../../domain/day-limit.ts';
import { FACT_TYPES, FACTS, REASONS_FOR_ATTENTION } from '../../../domain/facts.ts';
import { keySetting } from '../../../domain/key-settings.ts';
import { timeOfId } from '../../../domain/record-id.ts';
import { haveMinutes } from '../../../domain/record-kinds.ts';
import { writableKinds } from '../../../domain/scopes.ts';
import type { AuditEntry, countWritesSince } from '../../../services/audit/read-audit-log.ts';
import type { Company } from '../../../services/directory/companies.ts';
import { recordsOf, type Usage } from '../../../services/keys/key-usage.ts';
import type { ChainDay, KeyDetails } from '../../../services/keys/read-keys.ts';
import type { DryRuns, RefusedUse } from '../../../services/keys/refused-uses.ts';
import { stateInList } from '../../../services/keys/select-keys.ts';
import { usePage } from '../page-context.ts';
import { AuditEntries } from './audit-entries.tsx';
import { Address, Banner, counted, Facts, Hint, LinkButton, type NamedFact, Scopes, State } from './components.tsx';
import { limitsText, useText } from './day-use.ts';
import { CompanyNames, Creator, DryRunCount, LastWrite, OtherKey } from './key-facts.tsx';
import { RefusedUsesTable } from './refused-uses-table.tsx';
import { Expiry, Time } from './time.tsx';
import { UsageChart } from './usage-chart.tsx';

interface Props {
  subject: KeyDetails;
  /** The deployment's limit for each key. */
  dayLimit: DayLimit | null;
  /** Today's records of the key's chain. */
  written: ChainDay;
  /** The key's own records on the latest days. */
  usage: Usage;
  /** Those of these days on which it logged unusually much time. */
  longDays: readonly string[];
  /** Writes of the other key of its rotation. */
  otherUsage: Usage | undefined;
  entries: readonly AuditEntry[];
  refused: readonly RefusedUse[];
  dryRuns: DryRuns | undefined;
  /** The companies that the key is limited to. */
  companies: readonly Company[];
  /** What the key wrote since an instant (UTC milliseconds), if it was just revoked. */
  lastDay: ({ since: number } & Awaited<ReturnType<typeof countWritesSince>>) | undefined;
}

export function KeyLead({ subject: key }: Pick<Props, 'subject'>) {
  return (
    <p class="row">
      <State state={stateInList(key)} /> <Hint hint={key.hint} />
    </p>
  );
}

export function KeyActions({ subject: key }: Pick<Props, 'subject'>) {
  const { base } = usePage();
  if (key.state === 'revoked') return null;
  const path = `${base}/keys/${key.id}`;
  return (
    <>
      {isLive(key.state) && !key.successor && (
        <LinkButton to={`${path}/rotate`} kind="quiet">
          Rotate
        </LinkButton>
      )}
      <LinkButton to={`${path}/revoke`} kind="danger">
        {key.successor ? 'Revoke now' : 'Revoke'}
      </LinkButton>
    </>
  );
}

/** One key with its details, use, latest activity, refused uses and settings. */
export function KeyPage({
  subject: key,
  dayLimit,
  written,
  usage,
  longDays,
  entries,
  refused,
  dryRuns,
  companies,
  lastDay,
  otherUsage,
}: Props) {
  const { base, timeZone, now } = usePage();
  const path = `${base}/keys/${key.id}`;
  const reported = refusedNow(key, refused, now);
  const isAllReported = refused.length === 1 && reported?.lost.length === 0;
  const limits = dayLimits(key, dayLimit);
  const own = { records: key.dayLimitRecords, minutes: key.dayLimitMinutes };
  const kinds = writableKinds(key.scopes);
  const { predecessor, successor } = key;
  const today = useText({ ...written, minutes: haveMinutes(kinds) ? written.minutes : undefined }, limits);
  return (
    <>
      {lastDay && <LastDay subject={key} lastDay={lastDay} />}
      <RefusedNow subject={key} use={reported} />
      <Facts
        facts={[
          ['Scopes', <Scopes scopes={key.scopes} />],
          key.revokedAt === null ? ['Expires', <Expiry subject={key} />] : ['Revoked', <Revocation subject={key} />],
          ['Last write', <LastWrite subject={key} />],
          ['Dry runs', dryRuns && <DryRunCount uses={dryRuns} />],
          ['Created', [<Time at={key.createdAt} />, ' ', <Creator subject={key} />]],
          [
            'Today',
            [today, (predecessor || successor) && <span class="minor"> (with the other keys of its rotation)</span>],
          ],
          ...(['owner', 'description'] as const).map(
            (name): NamedFact => [keySetting(name).label, key[name] && <bdi>{key[name]}</bdi>],
          ),
          ['Writes since the rotation', otherUsage && rotationText(key, usage, otherUsage, timeZone)],
          ['Predecessor', predecessor && <OtherKey link={predecessor} />],
          ['Successor', successor && <OtherKey link={successor} />],
        ]}
      />
      {recordsOf(usage) > 0 && <UsageChart usage={usage} longDays={longDays} limits={own} kinds={kinds} />}
      <h2>Activity</h2>
      {entries.length === 0 ? <p>No audit entries.</p> : <AuditEntries entries={entries} keyId={key.id} />}
      <p>
        <a href={`${base}/audit?key=${key.id}`}>All audit entries for this key</a>
      </p>
      {!isAllReported && (
        <>
          <h2>Refused uses</h2>
          <RefusedUsesTable uses={refused} forOneKey />
        </>
      )}
      <h2>Settings</h2>
      <Facts
        facts={[
          [keySetting('companies').label, companies.length === 0 ? 'All' : <CompanyNames companies={companies} />],
          ['Daily limits', limitsText(own) || 'Those of all keys'],
          ['Allowed networks', <Networks networks={key.allowedNetworks} />],
        ]}
      />
      {isLive(key.state) && (
        <LinkButton to={`${path}/change`} kind="quiet">
          Change settings
        </LinkButton>
      )}
    </>
  );
}

/** Writes of both keys of a rotation since its day show whether the automation uses the new one. */
function rotationText({ id, successor }: KeyDetails, own: Usage, other: Usage, timeZone: string): string {
  const day = dateIn(timeZone, timeOfId(successor?.id ?? id) ?? 0);
  const since = (usage: Usage) => recordsOf(usage.filter((one) => one.day >= day));
  const [old, current] = successor ? [own, other] : [other, own];
  return `Old key ${since(old)}, new key ${since(current)}`;
}

/** What a revoked key wrote in the last 24 hours, for a leak. */
function LastDay({ subject: { id }, lastDay }: { subject: KeyDetails; lastDay: NonNullable<Props['lastDay']> }) {
  const { base } = usePage();
  const { since, writes, addresses, isMinimum } = lastDay;
  const query = `key=${id}&since=${new Date(since).toISOString()}`;
  return (
    <p>
      {isMinimum && 'At least '}
      {counted(writes, 'write')} in the last 24 hours from {counted(addresses, 'address', 'addresses')}.{' '}
      <a href={`${base}/audit?${query}`}>See them</a> · <a href={`${base}/audit.csv?${query}`}>Download with texts</a>
    </p>
  );
}

/** The refused use that a banner reports. */
function refusedNow({ lastWrite }: KeyDetails, refused: readonly RefusedUse[], now: number): RefusedUse | undefined {
  const isNow = ({ lastAt }: RefusedUse) => lastAt > Math.min(now - DAY_MS, lastWrite?.at ?? now);
  return refused.find((one) => isNow(one) && REASONS_FOR_ATTENTION.some((reason) => reason === one.reason));
}

/** Says since when the key is refused, from where and why, with the remedy. */
function RefusedNow({ subject: key, use }: { subject: KeyDetails; use: RefusedUse | undefined }) {
  const { base } = usePage();
  const type = FACT_TYPES.find((one) => one === `refused_${use?.reason}`);
  if (!use || !type) return null;
  const { reason, firstAt, count, sourceAddress } = use;
  return (
    <Banner tone="danger">
      <strong>
        {reason === 'idempotency_mismatch' ? 'Writes lost' : 'Refused'} since <Time at={firstAt} />
      </strong>
      : at least {counted(count, 'request')}
      {sourceAddress !== null && (
        <>
          {' '}
          from <Address address={sourceAddress} />
        </>
      )}
      . {FACTS[type].advice}{' '}
      {reason === 'address_not_allowed' && sourceAddress !== null && isLive(key.state) && (
        <a href={`${base}/keys/${key.id}/change?allow=${encodeURIComponent(sourceAddress)}#allowedNetworks`}>
          Allow {sourceAddress}
        </a>
      )}
    </Banner>
  );
}

function Revocation({ subject: { revokedAt, revokedBy } }: { subject: KeyDetails }) {
  return (
    <>
      <Time at={revokedAt ?? 0} /> by <bdi>{revokedBy}</bdi>
    </>
  );
}

function Networks({ networks }: { networks: string }) {
  if (networks === '') return <>All (the key works from everywhere)</>;
  return networks.split(' ').map((network, index) => [index > 0 && ', ', <Address address={network} />]);
}

const dayLimits = ({ dayLimitRecords, dayLimitMinutes }: KeyDetails, day: DayLimit | null) => ({
  records: lower(day?.records, dayLimitRecords),
  minutes: dayLimitMinutes,
  bytes: day?.bytes ?? null,
});
