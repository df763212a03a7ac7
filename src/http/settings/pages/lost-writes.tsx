import { FACTS } from '../../../domain/facts.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Address, Cancel, counted, HiddenFields, Table, type TableColumn, Ticket } from './components.tsx';
import { KeyName } from './key-facts.tsx';
import { LOST, MORE_LOST, reasonText } from './refusal.tsx';
import { Time } from './time.tsx';

/** The filters of the list that a confirmation leads back to, or `onKey` for the page of the key. */
export type LostQuery = Partial<Record<'q' | 'status' | 'onKey', string | undefined>>;

/** Whether there are lost writes that no administrator has entered by hand. */
export const hasOpenLosses = ({ lost, endsAt }: RefusedUse, now: number) =>
  lost.length > 0 && (endsAt === null || endsAt > now);

/** The writes that one Idempotency-Key of a key lost, latest first: its workflow sends the same one for several events. */
interface OfIdempotencyKey {
  idempotencyKey: string;
  writes: RefusedUse['lost'];
}

const AuditedKey = ({ idempotencyKey }: { idempotencyKey: string }) => (
  <a href={addressOf(`${usePage().base}/audit`, { q: idempotencyKey })}>{idempotencyKey}</a>
);

/** The lost writes of a key by Idempotency-Key, each in a fold. */
const BY_KEY: readonly TableColumn<OfIdempotencyKey>[] = [
  ['Idempotency-Key', AuditedKey],
  [
    'Tickets',
    ({ writes }) => (
      <span>
        {[...new Set(writes.map(({ ticketId }) => ticketId))].map((id, index) => [
          index > 0 && ', ',
          <Ticket id={id} />,
        ])}
      </span>
    ),
  ],
  ['Latest', ({ writes }) => <Time at={writes[0]?.at ?? 0} />],
  [
    'Lost',
    ({ writes }) => (
      <details>
        <summary>{counted(writes.length, 'write')}</summary>
        {writes.map(({ at, ticketId, requestId }) => (
          <p class="minor">
            <Time at={at} />, ticket {ticketId}. Request <Address address={requestId} />
          </p>
        ))}
      </details>
    ),
  ],
];

const EACH: readonly TableColumn<RefusedUse['lost'][number]>[] = [
  ['Time', ({ at }) => <Time at={at} />],
  ['Ticket', ({ ticketId }) => <Ticket id={ticketId} />],
  ['Idempotency-Key', AuditedKey],
  ['Request', ({ requestId }) => <Address address={requestId} />],
];

/** When an administrator entered the lost writes of a key, with a link to who did. */
export const EnteredByHand = ({ keyId, at }: { keyId: string; at: number }) => (
  <span class="minor">
    <a href={`${usePage().base}/audit?key=${keyId}&action=api_key.lost_writes_entered`}>Entered by hand</a>,{' '}
    <Time at={at} />
  </span>
);

interface Props {
  uses: readonly RefusedUse[];
  query: LostQuery;
}

/** The lost writes of a key, with the way to say that they are entered, or when they were. */
function LostOfKey({ use, query }: { use: RefusedUse; query: LostQuery }) {
  const { base, now } = usePage();
  const { key, lost, count, endsAt, isMinimum } = use;
  const rows = Array.from(
    Map.groupBy(lost, ({ idempotencyKey }) => idempotencyKey),
    ([idempotencyKey, writes]) => ({ idempotencyKey, writes }),
  );
  return (
    <>
      <div class="row lost" id={`lost-${key.id}`}>
        {!query.onKey && (
          <h3>
            <KeyName subject={key} />
          </h3>
        )}
        {hasOpenLosses(use, now) ? (
          <a
            class="button quiet"
            href={addressOf(`${base}/keys/${key.id}/lost-writes`, query)}
            aria-label={`Entered by hand: ${key.name}`}
          >
            Entered by hand…
          </a>
        ) : (
          <EnteredByHand keyId={key.id} at={endsAt ?? 0} />
        )}
      </div>
      {isMinimum && (
        <p>
          At least {counted(count, 'write')}. {MORE_LOST}
        </p>
      )}
      <Table caption={`Lost writes of ${key.name}`} kind="losses" columns={BY_KEY} rows={rows} />
    </>
  );
}

/** The latest lost writes, so that they can be entered again, and the cause found; those that were entered are folded. */
export function LostWrites({ uses, query }: Props) {
  const { now } = usePage();
  const lost = uses.filter((use) => use.lost.length > 0);
  if (lost.length === 0) return null;
  const open = lost.filter((use) => hasOpenLosses(use, now));
  const entered = lost.filter((use) => !open.includes(use));
  return (
    <section id="lost">
      <h2>{open.length > 0 ? 'Writes that may be lost' : 'Lost writes'}</h2>
      {open.length > 0 && (
        <>
          {/* The banner of a key says this. */}
          {!query.onKey && (
            <p>
              {reasonText(LOST)}. {FACTS.refused_idempotency_mismatch.advice}
            </p>
          )}
          {open.map((use) => (
            <LostOfKey {...{ use, query }} />
          ))}
        </>
      )}
      {entered.length > 0 && (
        <details open={query.q !== undefined}>
          <summary>Entered by hand: {counted(entered.flatMap((use) => use.lost).length, 'write')}</summary>
          {entered.map((use) => (
            <LostOfKey {...{ use, query }} />
          ))}
        </details>
      )}
    </section>
  );
}

interface ConfirmProps {
  subject: KeyDetails;
  use: RefusedUse;
  query: LostQuery;
  cancel: string;
}

/** Shows the lost writes of a key, and asks whether an administrator has entered all of them. */
export function ConfirmLostWrites({ subject, use, query, cancel }: ConfirmProps) {
  const { psa } = usePage();
  const { lost, count, lastAt, isMinimum } = use;
  return (
    <>
      <div class="question">
        <p>
          <strong>This is final.</strong> The lost writes of “<bdi>{subject.name}</bdi>” then need no attention. This
          service never sends them to <bdi>{psa}</bdi>.
        </p>
        <p>
          Enter {isMinimum ? 'all of them' : count === 1 ? 'it' : `these ${counted(count, 'write')}`} in{' '}
          <bdi>{psa}</bdi> before you confirm. The texts are in the automation’s runs of these times.{' '}
          {isMinimum && MORE_LOST}
        </p>
      </div>
      <Table caption="Lost writes" columns={EACH} rows={lost} />
      <form method="post">
        <HiddenFields fields={parametersOf({ ...query, count, lastAt })} />
        <div class="actions">
          <button type="submit">Entered by hand</button>
          <Cancel to={cancel} />
        </div>
      </form>
    </>
  );
}
