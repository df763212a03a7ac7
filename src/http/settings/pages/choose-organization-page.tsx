import type { SettingsLink } from '../../../domain/deployments.ts';
import { EXPIRING_DAYS } from '../../../domain/facts.ts';
import type { OrganizationCounts } from '../../../services/directory/count-organizations.ts';
import { Banner, counted, Table } from './components.tsx';
import { FilterOrganizations, isFilterNeeded, OtherDeployments } from './organization-switcher.tsx';

interface Props {
  /** Those that match the text. */
  organizations: readonly { id: string; name: string; counts: OrganizationCounts | undefined }[];
  text: string;
  total: number;
  isComplete: boolean;
  signOutPath: string | undefined;
  settingsLinks: readonly SettingsLink[];
}

const HEADINGS = ['Organization', 'Keys in use', `Expire within ${EXPIRING_DAYS} days`, 'Need attention'];

/** In place of a zero. A narrow screen leaves it out. */
const Dash = () => <span class="dash">–</span>;

/** Also shows the ids, because a tenant may choose the name of another one. */
export function ChooseOrganizationPage({ organizations, text, total, isComplete, signOutPath, settingsLinks }: Props) {
  return (
    <>
      <p>You administer several organizations. Keys and the audit log belong to one of them.</p>
      {isFilterNeeded(total) && <FilterOrganizations id="find" total={total} text={text} />}
      {organizations.length === 0 ? (
        <Banner tone="neutral">
          No organization matches. <a href="/settings">Show all</a>
        </Banner>
      ) : (
        <Table caption="Organizations" headings={HEADINGS}>
          {organizations.map(({ id, name, counts }) => (
            <tr>
              <th scope="row">
                <a href={`/settings/${id}/keys`}>
                  <bdi>{name}</bdi>
                </a>{' '}
                <span class="minor">{id}</span>
              </th>
              <td data-label={HEADINGS[1]}>{counts?.live ?? 0}</td>
              <td data-label={HEADINGS[2]}>{counts?.expiring || <Dash />}</td>
              <td data-label={HEADINGS[3]}>
                {counts && counts.refused > 0 ? (
                  <a href={`/settings/${id}/refused`} class="mark">
                    {counted(counts.refused, 'refused use')}
                  </a>
                ) : (
                  <Dash />
                )}
              </td>
            </tr>
          ))}
        </Table>
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
