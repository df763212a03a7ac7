import type { PropsWithChildren } from 'hono/jsx';
import type { RefusedUseReason } from '../../../domain/refused-use.ts';
import type { Company } from '../../../services/directory/companies.ts';
import type { KeyDetails, KeyLink } from '../../../services/keys/read-keys.ts';
import { keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';
import { Address, Hint } from './components.tsx';
import { Time } from './time.tsx';

export function LastWrite({ subject: { lastWrite } }: { subject: KeyDetails }) {
  if (!lastWrite) return <>Never</>;
  return <TimeAndSource at={lastWrite.at} from={lastWrite.from} />;
}

const TimeAndSource = ({ at, from }: { at: number; from: string | null }) => (
  <>
    <Time at={at} />
    <From address={from} />
  </>
);

/** The marks of a key for what needs attention: refused requests, and lost writes, which get 200. */
export const RefusedMarks = ({ reasons }: { reasons: readonly string[] }) => (
  <>
    {reasons.some((reason) => reason !== LOST) && <span class="mark">refused</span>}{' '}
    {reasons.includes(LOST) && <span class="mark">lost writes</span>}
  </>
);
const LOST = 'idempotency_mismatch' satisfies RefusedUseReason;

/** From which source address, if that is known. One element: a table's cell on a narrow screen is a grid. */
export const From = ({ address }: { address: string | null }) =>
  address !== null && (
    <span>
      {' '}
      from <Address address={address} />
    </span>
  );

interface KeyNameProps {
  subject: Pick<KeyDetails, 'id' | 'name'> & { hint?: string };
  /** The query string of the list that the page leads back to. */
  search?: string;
}

/** The name of a key with a link to its page, and its hint if it is given. */
export function KeyName({ subject: { id, name, hint }, search = '' }: KeyNameProps) {
  const { base } = usePage();
  return (
    <>
      <a class="name" href={`${base}/keys/${id}${search}`}>
        <bdi>{name}</bdi>
      </a>{' '}
      {hint && <Hint hint={hint} />}
    </>
  );
}

/** A link to the keys of an owner or a source address. */
export function KeysOf({ search, children }: PropsWithChildren<{ search: string }>) {
  const { base } = usePage();
  return <a href={keyListPath(base, { q: search })}>{children}</a>;
}

/** Who created a key, with a mark if that user is no longer an active administrator. */
export function Creator({ subject: { createdBy, creatorActive } }: { subject: KeyDetails }) {
  return (
    <span>
      by <bdi>{createdBy}</bdi>
      {!creatorActive && <span class="mark"> no longer active</span>}
    </span>
  );
}

/** The companies that a key is limited to, with a mark if they are not active. */
export const CompanyNames = ({ companies }: { companies: readonly Company[] }) =>
  companies.map((company, index) => [index > 0 && ', ', <CompanyName company={company} />]);

export const CompanyName = ({ company: { id, name, active } }: { company: Company }) => (
  <span>
    <bdi>{name}</bdi>{' '}
    <span class="minor">
      ({id}
      {active === 0 && ', not active'})
    </span>
  </span>
);

/** A link to the other key of a rotation. It shows the hint because both keys have the same name. */
export function OtherKey({ link }: { link: KeyLink }) {
  const { base } = usePage();
  return (
    <a href={`${base}/keys/${link.id}`}>
      <Hint hint={link.hint} />
    </a>
  );
}
