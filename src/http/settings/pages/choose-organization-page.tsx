import { dateIn } from '../../../domain/calendar.ts';
import type { SettingsLink } from '../../../domain/deployments.ts';
import { FACT_TYPES, FACTS, type FactType, isLostWork } from '../../../domain/facts.ts';
import type { OverviewItem } from '../../../services/directory/organization-overview.ts';
import { Banner, Table, type TableColumn } from './components.tsx';
import type { AreaTab } from './header.tsx';
import { FilterOrganizations, isFilterNeeded, OtherDeployments } from './organization-switcher.tsx';

interface Props {
  /** The organizations that match the text. */
  organizations: readonly OverviewItem[];
  text: string;
  /** The page of an organization that its link opens. */
  tab: AreaTab;
  total: number;
  isComplete: boolean;
  signOutPath: string | undefined;
  settingsLinks: readonly SettingsLink[];
}

/** In place of a zero. A narrow screen leaves it out. */
const Dash = () => <span class="dash">–</span>;

/** Also shows the ids, because a tenant may choose the name of another one. */
export function ChooseOrganizationPage(props: Props) {
  const { organizations, text, tab, total, isComplete, signOutPath, settingsLinks } = props;
  return (
    <>
      <p>You administer {total} organizations. The ones that need attention come first.</p>
      {isFilterNeeded(total) && <FilterOrganizations id="find" {...{ total, text, tab }} />}
      {organizations.length === 0 ? (
        <Banner tone="neutral">
          No organization matches. <a href="/settings">Show all</a>
        </Banner>
      ) : (
        <Table caption="Organizations" kind="organizations" columns={columnsFor(tab)} rows={organizations} />
      )}
      {!isComplete && (
        <p>
          Only {total} organizations are listed. Open any other at <code>/settings/&lt;organization id&gt;</code>.
        </p>
      )}
      <OtherDeployments settingsLinks={settingsLinks} />
      {signOutPath && (
        <p data-sign-out>
          <a href={signOutPath}>Sign out</a>
        </p>
      )}
    </>
  );
}

/** The types of facts of an organization, lost work first. */
const typesOf = ({ facts }: OverviewItem) =>
  FACT_TYPES.filter((type) => facts.has(type)).toSorted((a, b) => Number(isLostWork(b)) - Number(isLostWork(a)));

const columnsFor = (tab: AreaTab): readonly TableColumn<OverviewItem>[] => [
  [
    'Organization',
    ({ organization: { id, name } }) => (
      <>
        <a href={`/settings/${id}/${tab}`} class="name" data-organization={id}>
          <bdi>{name}</bdi>
        </a>{' '}
        <span class="minor">{id}</span>
      </>
    ),
  ],
  ['Needs attention', (item) => <Count types={typesOf(item)} />],
  ['Most urgent', (item) => <MostUrgent of={item} />],
  ['Keys in use', ({ liveKeys }) => liveKeys],
];

function Count({ types }: { types: readonly FactType[] }) {
  if (types.length === 0) return <Dash />;
  return (
    <span class={types.some(isLostWork) ? 'chip count mark' : 'chip count'}>
      {types.length}
      <span class="visually-hidden"> to look at</span>
    </span>
  );
}

function MostUrgent({ of }: { of: OverviewItem }) {
  const { id, timeZone } = of.organization;
  const [type] = typesOf(of);
  const tile = type && FACTS[type].tile;
  const facts = (type && of.facts.get(type)) ?? [];
  const [first] = facts;
  if (!tile || !first) return <Dash />;
  return <a href={`/settings/${id}${tile.path(first, (at) => dateIn(timeZone, at))}`}>{tile.title(facts)}</a>;
}
