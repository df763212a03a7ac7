import { dateIn } from '../../../domain/calendar.ts';
import type { SettingsLink } from '../../../domain/deployments.ts';
import { FACT_TYPES, FACTS } from '../../../domain/facts.ts';
import type { OverviewItem } from '../../../services/directory/organization-overview.ts';
import { Banner, Table } from './components.tsx';
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

const HEADINGS = ['Organization', 'Needs attention', 'Most urgent', 'Keys in use'];

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
        <div class="organizations">
          <Table caption="Organizations" headings={HEADINGS}>
            {organizations.map((item) => (
              <Row of={item} tab={tab} />
            ))}
          </Table>
        </div>
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

function Row({ of: { organization, liveKeys, facts }, tab }: { of: OverviewItem; tab: AreaTab }) {
  const { id, name, timeZone } = organization;
  const types = FACT_TYPES.filter((type) => facts.has(type));
  const lost = types.find((type) => FACTS[type].tile?.tone === 'danger');
  const urgent = lost ?? types[0];
  const ofUrgent = (urgent && facts.get(urgent)) ?? [];
  const [first] = ofUrgent;
  const tile = urgent && FACTS[urgent].tile;
  return (
    <tr data-organization={id}>
      <th scope="row">
        <a href={`/settings/${id}/${tab}`} class="name">
          <bdi>{name}</bdi>
        </a>{' '}
        <span class="minor">{id}</span>
      </th>
      <td>
        {types.length === 0 ? (
          <Dash />
        ) : (
          <span class={lost ? 'chip count mark' : 'chip count'}>
            {types.length}
            <span class="visually-hidden"> to look at</span>
          </span>
        )}
      </td>
      <td>
        {tile && first ? (
          <a href={`/settings/${id}${tile.path(first, (at) => dateIn(timeZone, at))}`}>{tile.title(ofUrgent)}</a>
        ) : (
          <Dash />
        )}
      </td>
      <td>{liveKeys}</td>
    </tr>
  );
}
