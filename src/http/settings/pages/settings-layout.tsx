import type { Child, PropsWithChildren } from 'hono/jsx';
import type { SettingsLink } from '../../../domain/deployments.ts';
import type { Administrator } from '../../hono-env.ts';
import { Frame } from '../../page/frame.tsx';
import { Icon } from '../../page/icon.tsx';
import { AreaTabs, Bar } from './header.tsx';

/** The parts of a page around its title. */
export interface PageHead {
  /** The pages between the list of keys and this one. */
  trail?: readonly { href: string; text: string }[];
  lead?: Child;
  actions?: Child;
  hasErrors?: boolean;
  isOnce?: boolean;
}

interface Props extends PageHead {
  title: string;
  /** Undefined if no user is signed in, or the user does not administer the organization. */
  administrator: Administrator | undefined;
  path: string;
  signOutPath: string | undefined;
  settingsLinks: readonly SettingsLink[];
  banners: Child[] | undefined;
}

export function Layout(props: PropsWithChildren<Props>) {
  const { children, title, administrator, path, signOutPath, settingsLinks, trail, lead, actions, banners } = props;
  const documentTitle = `${props.hasErrors ? 'Error: ' : ''}${title}`;
  const zone = administrator?.organization.timeZone.replaceAll('_', ' ');
  return (
    <Frame
      title={administrator ? `${documentTitle} · ${administrator.organization.name}` : documentTitle}
      isOnce={props.isOnce}
      home="/settings"
      bar={<Bar {...{ administrator, path, settingsLinks, signOutPath }} />}
      tabs={administrator && <AreaTabs path={path} refused={administrator.refused} />}
      footer={
        administrator &&
        (zone === 'UTC' ? 'Times are in UTC.' : `Time zone: ${zone}. Hover over a time to see it in UTC.`)
      }
    >
      {trail && <Trail pages={trail} />}
      <div class="head">
        <div>
          <h1>{title}</h1>
          {lead}
        </div>
        {actions && <div class="head-actions">{actions}</div>}
      </div>
      {banners}
      {children}
    </Frame>
  );
}

/** The way back. Its first link is not named like the tab, so that each name leads to one link. */
function Trail({ pages }: { pages: NonNullable<PageHead['trail']> }) {
  return (
    <nav class="trail" aria-label="Breadcrumb">
      <Icon name="left" />
      {pages.map(({ href, text }) => (
        <a href={href}>
          <bdi>{text}</bdi>
        </a>
      ))}
    </nav>
  );
}
