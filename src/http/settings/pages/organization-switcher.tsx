import type { SettingsLink } from '../../../domain/deployments.ts';
import type { Administrator } from '../../hono-env.ts';
import { Icon } from '../../page/icon.tsx';
import { Menu } from './components.tsx';
import type { AreaTab } from './header.tsx';

/** From so many organizations on, a filter finds one. */
const MIN_FILTERED = 5;
export const isFilterNeeded = (organizations: number) => organizations >= MIN_FILTERED;

interface Props {
  administrator: Administrator;
  /** The page of another organization that its link opens. */
  tab: AreaTab;
  settingsLinks: readonly SettingsLink[];
}

/**
 * The name of the organization, and a menu if there are others: this one first, the others in natural order. With
 * script, the others are sorted as in the overview, which also says how much needs attention.
 */
export function OrganizationSwitcher({ administrator, tab, settingsLinks }: Props) {
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
        <FilterOrganizations id="switch" total={organizations.length} text={undefined} tab={tab} />
      )}
      {others.length > 0 && (
        <nav aria-label="Organizations">
          {[organization, ...others].map(({ id, name }) => (
            <a
              href={`/settings/${id}/${tab}`}
              data-organization={id}
              aria-current={id === organization.id ? 'true' : undefined}
            >
              <bdi>{name}</bdi>
              {id === organization.id && <Icon name="check" />}
            </a>
          ))}
        </nav>
      )}
      <OtherDeployments settingsLinks={settingsLinks} />
      <a href={`/settings?tab=${tab}`} class="overview">
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

interface FilterProps extends Pick<Props, 'tab'> {
  id: string;
  total: number;
  text: string | undefined;
}

/** Finds organizations by a part of their name or id, and opens the only one that matches. */
export function FilterOrganizations({ id, total, text, tab }: FilterProps) {
  return (
    <search>
      <form method="get" action="/settings" class="find">
        <label class="visually-hidden" for={id}>
          Filter organizations
        </label>
        <input id={id} name="q" type="search" value={text} placeholder={`Filter ${total} organizations`} />
        <input type="hidden" name="tab" value={tab} />
        <button type="submit" class="quiet">
          Filter
        </button>
      </form>
    </search>
  );
}
