import { isLive } from '../../../domain/api-key.ts';
import { dateIn } from '../../../domain/calendar.ts';
import { type DayLimit, lower } from '../../../domain/day-limit.ts';
import { keySetting } from '../../../domain/key-settings.ts';
import { haveMinutes, writableKinds } from '../../../domain/record-kinds.ts';
import type { countWritesSince } from '../../../services/audit/read-audit-log.ts';
import type { Company } from '../../../services/directory/companies.ts';
import { recordsOf, USAGE_DAYS, type Usage } from '../../../services/keys/key-usage.ts';
import type { Rotation, Workflow } from '../../../services/keys/key-workflows.ts';
import type { ChainDay, KeyDetails } from '../../../services/keys/read-keys.ts';
import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { stateInList } from '../../../services/keys/select-keys.ts';
import { usePage } from '../page-context.ts';
import { AuditEntries, type ShownEntry } from './audit-entries.tsx';
import { Address, Banner, counted, Facts, Hint, LinkButton, Scopes, State } from './components.tsx';
import { limitWords, useText } from './day-use.ts';
import { CompanyNames, Creator, KeysOf, LastWrite, OtherKey, RefusedMarks } from './key-facts.tsx';
import { LostWrites } from './lost-writes.tsx';
import { adviceOf, LOST, MORE_LOST, RefusedPart, Repair, reasonText, repairId, replacedFor } from './refusal.tsx';
import { LatestRequests } from './refused-requests-table.tsx';
import { HowOften, RefusedUsesTable } from './refused-uses-table.tsx';
import { Expiry, spanText, Time } from './time.tsx';
import { UsageChart } from './usage-chart.tsx';
import { SinceRotation, Workflows } from './workflows.tsx';

interface Props {
  subject: KeyDetails;
  /** The deployment's limit for each key. */
  dayLimit: DayLimit | null;
  /** Today's records of the key's chain. */
  written: ChainDay;
  /** The key's own records on the latest days. */
  usage: Usage;
  entries: readonly ShownEntry[];
  refused: readonly RefusedUse[];
  /** All refused requests that are kept. */
  requests: readonly RefusedRequest[];
  /** The companies that the key is limited to. */
  companies: readonly Company[];
  /** What wrote with the key, and with each key of its rotation as long as the old one works. */
  workflows: readonly Workflow[];
  rotation: Rotation | undefined;
  /** What the key wrote since an instant (UTC milliseconds), if it was just revoked. */
  lastDay: ({ since: number } & Awaited<ReturnType<typeof countWritesSince>>) | undefined;
}

export function KeyLead({ subject: key, refused }: Pick<Props, 'subject' | 'refused'>) {
  return (
    <p class="row">
      <State state={stateInList(key)} />{' '}
      <RefusedMarks reasons={refused.filter(({ needsAttention }) => needsAttention).map(({ reason }) => reason)} />{' '}
      <Hint hint={key.hint} />
    </p>
  );
}

export function KeyActions({ subject: key, refused }: Pick<Props, 'subject' | 'refused'>) {
  const { base } = usePage();
  const path = `${base}/keys/${key.id}`;
  const canReplace = !isLive(key.state) && !key.successor;
  // The banner of a refused key has this button.
  const isOffered = refused.some(({ reason, needsAttention }) => needsAttention && replacedFor(reason));
  return (
    <>
      {!(canReplace && isOffered) && (
        <a
          href={canReplace ? `${path}/replace` : `${base}/new-key?like=${key.id}`}
          class={key.state === 'expired' && canReplace ? 'button' : 'button quiet'}
        >
          {canReplace ? 'Create its replacement' : 'Duplicate'}
        </a>
      )}
      {isLive(key.state) && (
        <LinkButton to={`${path}/change`} kind="quiet">
          Change settings
        </LinkButton>
      )}
      <EndKey subject={key} isRotatedBelow={isExpiring(key)} />
    </>
  );
}

const isExpiring = (key: KeyDetails) => stateInList(key) === 'expiring';

/** The buttons that replace and revoke a key, as far as its state permits. The banner of an expiring key rotates it. */
export function EndKey({
  subject: key,
  isRotatedBelow = false,
}: Pick<Props, 'subject'> & { isRotatedBelow?: boolean }) {
  const path = `${usePage().base}/keys/${key.id}`;
  return (
    <>
      {isLive(key.state) && !key.successor && !isRotatedBelow && (
        <LinkButton to={`${path}/rotate`} kind="quiet">
          Rotate
        </LinkButton>
      )}
      {key.state !== 'revoked' && (
        <LinkButton to={`${path}/revoke`} kind="danger">
          {key.successor ? 'Revoke now' : 'Revoke'}
        </LinkButton>
      )}
    </>
  );
}

/** One key with its details, use, latest activity, refused requests and settings. */
export function KeyPage(props: Props) {
  const { subject: key, usage, entries, refused, requests, rotation, lastDay } = props;
  const { base } = usePage();
  const reported = refused.filter(({ needsAttention }) => needsAttention);
  const others = otherReasons(requests, refused);
  return (
    <>
      {lastDay && <LastDay subject={key} lastDay={lastDay} usage={usage} />}
      {rotation && <SinceRotation rotation={rotation} isOld={rotation.old.subject.id === key.id} />}
      {isExpiring(key) && <ExpiresSoon subject={key} />}
      {reported.map((use) => (
        <RefusedNow use={use} />
      ))}
      <KeyFacts {...props} />
      {recordsOf(usage) > 0 && <UsageChart usage={usage} subject={key} />}
      <h2>Activity</h2>
      {entries.length === 0 ? <p>No audit entries.</p> : <AuditEntries entries={entries} keyId={key.id} isSection />}
      <p>
        <a href={`${base}/audit?key=${key.id}`}>All audit entries for this key</a>
      </p>
      <h2>Refused requests</h2>
      <RefusedUsesTable uses={refused} others={others} forOneKey />
      {requests.length > 0 && (
        <LatestRequests requests={requests} reported={new Set([...refused, ...others].map(repairId))} forOneKey />
      )}
      <LostWrites uses={refused} query={{ onKey: 'yes' }} />
    </>
  );
}

type FactsProps = Pick<Props, 'subject' | 'dayLimit' | 'written' | 'usage' | 'companies' | 'workflows'>;

function KeyFacts({ subject: key, dayLimit, written, usage, companies, workflows }: FactsProps) {
  const { predecessor, successor } = key;
  const own = { records: key.dayLimitRecords, minutes: key.dayLimitMinutes };
  const minutes = haveMinutes(writableKinds(key.scopes)) ? written.minutes : undefined;
  const today = useText({ ...written, minutes }, dayLimits(key, dayLimit), own);
  return (
    <Facts
      facts={[
        ['Scopes', <Scopes scopes={key.scopes} />],
        key.revokedAt === null ? ['Expires', <Expiry subject={key} />] : ['Revoked', <Revocation subject={key} />],
        ['Last write', <LastWrite subject={key} />],
        ['Workflows', workflows.length > 0 && <Workflows workflows={workflows} />],
        ['Wrote from', addressesOf(usage)],
        ['Created', [<Time at={key.createdAt} />, ' ', <Creator subject={key} />]],
        [
          'Today',
          [today, (predecessor || successor) && <span class="minor"> (with the other keys of its rotation)</span>],
        ],
        [
          keySetting('owner').label,
          key.owner && (
            <KeysOf search={key.owner}>
              <bdi>{key.owner}</bdi>
            </KeysOf>
          ),
        ],
        [keySetting('description').label, key.description && <bdi>{key.description}</bdi>],
        ['Predecessor', predecessor && <OtherKey link={predecessor} />],
        ['Successor', successor && <OtherKey link={successor} />],
        [keySetting('companies').label, companies.length === 0 ? 'All' : <CompanyNames companies={companies} />],
        ['Daily limits', limitWords(own).join(', ') || 'Those of all keys'],
        ['Allowed networks', <Networks networks={key.allowedNetworks} />],
      ]}
    />
  );
}

const SHOWN_ADDRESSES = 5;

/** The last source address of each day, latest first. */
function addressesOf(usage: Usage) {
  const addresses = [...new Set(usage.toReversed().flatMap(({ lastAddress }) => lastAddress ?? []))];
  const others = addresses.length - SHOWN_ADDRESSES;
  return (
    addresses.length > 0 && (
      <>
        {addresses.slice(0, SHOWN_ADDRESSES).map((address, index) => [
          index > 0 && ', ',
          <KeysOf search={address}>
            <Address address={address} />
          </KeysOf>,
        ])}
        {others > 0 && ` and ${counted(others, 'other address', 'other addresses')}`}
      </>
    )
  );
}

/** What a revoked key wrote in the last 24 hours, for a leak. */
function LastDay({
  subject: { id },
  lastDay: { since, writes, addresses, isMinimum },
  usage,
}: Pick<Props, 'subject' | 'usage'> & { lastDay: NonNullable<Props['lastDay']> }) {
  const { base, timeZone } = usePage();
  const before = `${counted(recordsOf(usage), 'write')} in ${USAGE_DAYS} days.`;
  if (writes === 0) return <p>No writes in the last 24 hours. {before}</p>;
  return (
    <p>
      {isMinimum && 'At least '}
      {counted(writes, 'write')} in the last 24 hours from {counted(addresses, 'address', 'addresses')}. {before}{' '}
      <a href={`${base}/audit?key=${id}&from=${dateIn(timeZone, since)}`}>See the latest</a>
    </p>
  );
}

function ExpiresSoon({ subject: { id, expiresAt } }: Pick<Props, 'subject'>) {
  const { base, now } = usePage();
  return (
    <Banner tone="warning">
      <strong>Expires in {spanText((expiresAt ?? now) - now)}.</strong> Rotate the key, and enter its successor in the
      automation.
      <div class="actions">
        <LinkButton to={`${base}/keys/${id}/rotate`}>Rotate</LinkButton>
      </div>
    </Banner>
  );
}

/** The latest request of each reason that refused uses do not count, with how many of them there are. */
function otherReasons(requests: readonly RefusedRequest[], uses: readonly RefusedUse[]): RefusedRequest[] {
  const others = requests.filter((request) => uses.every(({ reason }) => reason !== request.reason));
  const ofReasons = Map.groupBy(others, ({ reason }) => reason).values();
  return [...ofReasons].flatMap((alike) => alike.slice(0, 1).map((latest) => ({ ...latest, count: alike.length })));
}

/** Says why the key is refused, how often, since when and from where, with the remedy. */
function RefusedNow({ use }: { use: RefusedUse }) {
  const { reason, isMinimum, dayLimit } = use;
  const isLost = reason === LOST;
  return (
    <Banner tone="danger">
      <strong>
        {isLost ? 'Writes may be lost' : 'Refused'}: {reasonText(reason, dayLimit)}.
      </strong>{' '}
      <HowOften row={use} />. {adviceOf(use)}
      {isLost && isMinimum && ` ${MORE_LOST}`}
      <RefusedPart refusal={use} />
      <Repair refusal={use} kind="actions" />
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
