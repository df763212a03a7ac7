import type { Administrator } from '../../context.ts';
import { Menu } from './components.tsx';
import { Icon } from './icon.tsx';

/** The name of the organization, and a menu of the others if there are any, in natural order. */
export function OrganizationSwitcher({ administrator }: { administrator: Administrator }) {
  const { organization, organizations } = administrator;
  const others = organizations.filter(({ id }) => id !== organization.id);
  const name = (
    <strong class="organization">
      <bdi>{organization.name}</bdi>
    </strong>
  );
  if (others.length === 0) return name;
  const summary = (
    <>
      {name}
      <Icon name="down" />
      <span class="visually-hidden">Switch organization</span>
    </>
  );
  return (
    <Menu summary={summary} group="header" kind="switcher">
      <nav aria-label="Other organizations">
        {others.map(({ id, name }) => (
          <a href={`/settings/${id}/keys`}>
            <bdi>{name}</bdi>
          </a>
        ))}
      </nav>
    </Menu>
  );
}
