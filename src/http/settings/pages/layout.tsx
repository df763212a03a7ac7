import type { PropsWithChildren } from 'hono/jsx';
import type { PushTrouble } from '../../../services/directory/administrators.ts';
import type { Administrator } from '../../context.ts';
import type { Space } from '../space.ts';
import { PushNotice } from './push-notice.tsx';
import { SpaceNotice } from './space-notice.tsx';

interface Props {
  title: string;
  /**
   * Undefined if the request is not signed in, or the user does not administer the organization.
   */
  administrator?: Administrator | undefined;
  /** The path of this page, so that the navigation can mark it as current. */
  path?: string;
  signOutPath?: string | undefined;
  /** Undefined while the database has enough space. */
  space?: Space | undefined;
  /** Undefined while the changes of the organization reach its PSA. */
  pushTrouble?: PushTrouble | undefined;
  /** UTC milliseconds. */
  now: number;
}

const PAGES = [
  ['keys', 'API keys'],
  ['audit', 'Audit log'],
  ['refused', 'Refused uses'],
  ['which-key', 'Which key is this?'],
] as const;

/** The layout of every page. */
export function Layout(props: PropsWithChildren<Props>) {
  const { children, title, administrator, path = '', signOutPath, space, pushTrouble, now } = props;
  const zone = administrator?.organization.timeZone.replaceAll('_', ' ');
  const context = administrator && {
    base: `/settings/${administrator.organization.id}`,
    timeZone: administrator.organization.timeZone,
    now,
  };
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{administrator ? `${title} · ${administrator.organization.name}` : title}</title>
        <link rel="stylesheet" href="/settings.css" />
        <link rel="icon" href="/settings.svg" type="image/svg+xml" />
        <script src="/settings.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        {administrator && <Header administrator={administrator} path={path} signOutPath={signOutPath} />}
        <main id="main">
          <h1>{title}</h1>
          {context && pushTrouble && <PushNotice trouble={pushTrouble} context={context} />}
          {context && space && <SpaceNotice space={space} base={context.base} />}
          {children}
        </main>
        {administrator && (
          <footer>
            {zone === 'UTC' ? 'Times are in UTC.' : `Time zone: ${zone}. Hover over a time to see it in UTC.`}
          </footer>
        )}
      </body>
    </html>
  );
}

function Header({
  administrator,
  path,
  signOutPath,
}: {
  administrator: Administrator;
  path: string;
  signOutPath: string | undefined;
}) {
  const { organization, organizations, userName } = administrator;
  const base = `/settings/${organization.id}`;
  const others = organizations.filter(({ id }) => id !== organization.id);
  return (
    <header>
      <div class="who">
        <strong>
          <bdi>{organization.name}</bdi>
        </strong>
        {others.length > 0 && (
          <nav aria-label="Other organizations">
            {others.map(({ id, name }) => (
              <a href={`/settings/${id}/keys`}>
                <bdi>{name}</bdi>
              </a>
            ))}
          </nav>
        )}
        <span class="user">
          <bdi>{userName}</bdi>
          {signOutPath && <a href={signOutPath}>Sign out</a>}
        </span>
      </div>
      <nav aria-label="Settings">
        {PAGES.map(([page, label]) => (
          <a href={`${base}/${page}`} aria-current={path === `${base}/${page}` ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
    </header>
  );
}
