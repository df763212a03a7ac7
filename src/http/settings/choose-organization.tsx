import type { Context } from 'hono';
import { dateIn } from '../../domain/calendar.ts';
import { MAX_LISTED_ORGANIZATIONS } from '../../services/directory/administrators.ts';
import { type OverviewItem, readOrganizationOverview } from '../../services/directory/organization-overview.ts';
import { type AppEnv, serviceContext } from '../hono-env.ts';
import { tileOf } from './fact-tiles.ts';
import { factOptions } from './page-context.ts';
import { Banner, Table, type TableColumn, waitingText } from './pages/components.tsx';
import { FindOrganization, tabOf } from './pages/header.tsx';
import { render } from './render-page.tsx';
import { signedInAdministrations } from './sign-in.tsx';

/**
 * The page at /settings: the only organization of an administrator, or a choice of several. A search that finds one
 * opens it, on the tab `tab`. It shows ids, because a tenant may choose any name.
 */
export async function chooseOrganization(c: Context<AppEnv>): Promise<Response> {
  const all = await signedInAdministrations(c);
  const text = (c.req.query('q') ?? '').trim();
  const tab = tabOf(c.req.query('tab'));
  const found = all.filter(({ organization: { id, name } }) =>
    [id, name].some((one) => one.toLowerCase().includes(text.toLowerCase())),
  );
  // Never choose one of several: any tenant can name the administrator as its own and be first by name.
  const [only] = all.length === 1 ? all : text !== '' && found.length === 1 ? found : [];
  if (only) return c.redirect(`/settings/${only.organization.id}/${tab}`, 303);
  const organizations = await readOrganizationOverview(serviceContext(c), found, factOptions(c));
  const page = (
    <>
      <p class="minor">Those with the most serious problem come first.</p>
      <FindOrganization id="find" total={all.length} text={text} tab={tab} />
      {organizations.length === 0 ? (
        <Banner tone="neutral">
          No organization matches. <a href="/settings">Show all</a>
        </Banner>
      ) : (
        <Table caption="Organizations" kind="organizations" columns={columnsFor(tab)} rows={organizations} />
      )}
      {all.length >= MAX_LISTED_ORGANIZATIONS && (
        <p>
          Only {all.length} organizations are listed. Open any other at <code>/settings/&lt;organization id&gt;</code>.
        </p>
      )}
    </>
  );
  const [userName, ...others] = new Set(all.map((one) => one.userName));
  return render(c, 'Organizations', page, others.length === 0 ? { userName } : {});
}

const columnsFor = (tab: string): readonly TableColumn<OverviewItem>[] => [
  [
    'Organization',
    ({ organization: { id, name } }) => (
      <>
        <a href={`/settings/${id}/${tab}`} class="name">
          <bdi>{name}</bdi>
        </a>{' '}
        <span class="minor">{id}</span>
      </>
    ),
  ],
  ['Needs attention', (item) => <Count item={item} />],
  ['Most urgent', (item) => <MostUrgent item={item} />],
  ['Time to approve', (item) => <Waiting item={item} />],
  ['Keys in use', ({ liveKeys }) => liveKeys],
];

/** In place of a zero. A narrow screen leaves it out. */
const DASH = <span class="dash">–</span>;

function Count({ item: { facts, losesWork } }: { item: OverviewItem }) {
  if (facts.size === 0) return DASH;
  return (
    <span class={losesWork ? 'chip mark' : 'chip'}>
      {facts.size}
      <span class="visually-hidden"> to look at</span>
    </span>
  );
}

/** How many entries of time wait for approval. */
function Waiting({ item: { organization, facts } }: { item: OverviewItem }) {
  const [waiting] = facts.get('time_waiting') ?? [];
  if (!waiting) return DASH;
  return (
    <a href={`/settings/${organization.id}/time`}>
      {waitingText(waiting.count)}
      <span class="visually-hidden"> {waiting.count === 1 ? 'time entry waits' : 'time entries wait'}</span>
    </a>
  );
}

function MostUrgent({ item: { organization, facts, isRefused } }: { item: OverviewItem }) {
  const { id, timeZone, hasPsa } = organization;
  if (isRefused) return <a href={`/settings/${id}/keys`}>Write-back is off: every request is refused</a>;
  const [ofType = []] = facts.values();
  const tile = tileOf(ofType, (at) => dateIn(timeZone, at));
  if (tile) return <a href={`/settings/${id}${tile.path}`}>{tile.title}</a>;
  return hasPsa ? DASH : 'Write-back is off, and no key is in use';
}
