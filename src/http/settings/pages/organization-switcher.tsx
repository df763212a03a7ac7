import type { SettingsLink } from '../../../domain/deployments.ts';
import type { Administrator } from '../../hono-env.ts';
import { Icon } from '../../page/icon.tsx';
import { Menu } from './components.tsx';

/** From so many organizations on, a filter finds one. */
const MIN_FILTERED = 5;
export const isFilterNeeded = (organizations: number) => organizations >= MIN_FILTERED;

interface Props {
  administrator: Administrator;
  settingsLinks: readonly SettingsLink[];
}

/** The name of the organization, and a menu of the others if there are any, in natural order. */
export function OrganizationSwitcher({ administrator, settingsLinks }: Props) {
  const { organization, organizations } = administrator;
  const others = organizations.filter(({ id }) => id !== organization.id);
  const name = (
    <strong class="organization">
      <bdi>{organization.name}</bdi>
    </strong>
  );
  if (others.length === 0 && settingsLinks.length === 0) return name;
  const summary = (
    <>
      {name}
      <Icon name="down" />
      <span class="visually-hidden">Switch organization</span>
    </>
  );
  return (
    <Menu summary={summary} group="header" kind="switcher">
      {isFilterNeeded(organizations.length) && (
        <FilterOrganizations id="switch" total={organizations.length} text={undefined} />
      )}
      {others.length > 0 && (
        <nav aria-label="Other organizations">
          {others.map(({ id, name }) => (
            <a href={`/settings/${id}/keys`}>
              <bdi>{name}</bdi>
            </a>
          ))}
        </nav>
      )}
      <OtherDeployments settingsLinks={settingsLinks} />
      <a href="/settings" class="overview">
        Overview of all organizations
      </a>
    </Menu>
  );
}

export function OtherDeployments({ settingsLinks }: Pick<Props, 'settingsLinks'>) {
  return settingsLinks.length === 0 ? null : (
    <nav aria-label="Other deployments">
      {settingsLinks.map(({ name, url }) => (
        <a href={url}>{name}</a>
      ))}
    </nav>
  );
}

/** Finds organizations by a part of their name or id. */
export function FilterOrganizations({ id, total, text }: { id: string; total: number; text: string | undefined }) {
  return (
    <search>
      <form method="get" action="/settings" class="find">
        <label class="visually-hidden" for={id}>
          Filter organizations
        </label>
        <input id={id} name="q" type="search" value={text} placeholder={`Filter ${total} organizations`} />
        <button type="submit" class="quiet">
          Filter
        </button>
      </form>
    </search>
  );
}
