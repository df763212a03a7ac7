import type { SettingsLink } from '../../../domain/deployments.ts';
import type { Administrator } from '../../hono-env.ts';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { Menu } from './components.tsx';
import { OrganizationSwitcher } from './organization-switcher.tsx';

const TABS = [
  ['keys', 'API keys', ['new-key', 'revoke-all', 'revoke-keys', 'access-review', 'which-key']],
  ['audit', 'Audit log', []],
  ['refused', 'Refused uses', []],
  ['key-rules', 'Key rules', []],
] as const;

/** A tab: the last part of its address. */
export type AreaTab = (typeof TABS)[number][0];

/** The tab of a page, from the part of its address after the organization; the keys for any other page. */
export const tabOf = (page = ''): AreaTab =>
  TABS.find(([tab, , below]) => [tab, ...below].some((one) => one === page))?.[0] ?? 'keys';

interface Props {
  administrator: Administrator | undefined;
  path: string;
  settingsLinks: readonly SettingsLink[];
  signOutPath: string | undefined;
}

/** The organization, the documentation and the user. Only the documentation without an administrator. */
export function Bar({ administrator, path, settingsLinks, signOutPath }: Props) {
  const tab = tabOf(path.split('/')[3]);
  return (
    <>
      {administrator && <OrganizationSwitcher {...{ administrator, tab, settingsLinks }} />}
      <a class="bar-link" href="/docs">
        <Icon name="book" />
        <span>Documentation</span>
      </a>
      {administrator && <UserMenu administrator={administrator} signOutPath={signOutPath} />}
    </>
  );
}

function UserMenu({
  administrator: { userName, email },
  signOutPath,
}: Pick<Props, 'signOutPath'> & { administrator: Administrator }) {
  const summary = (
    <>
      <Icon name="user" />
      <bdi>{userName}</bdi>
      <span class="visually-hidden">Your account</span>
      <Icon name="down" />
    </>
  );
  return (
    <Menu summary={summary} group="header" kind="user">
      <p>
        <strong>
          <bdi>{userName}</bdi>
        </strong>
        <bdi class="minor">{email}</bdi>
      </p>
      <a href="/docs">Documentation</a>
      {signOutPath && (
        <a href={signOutPath} data-sign-out>
          Sign out
        </a>
      )}
    </Menu>
  );
}

/** The pages of an organization. A page below one of them keeps its tab marked. */
export function AreaTabs({ path, refused }: { path: string; refused: number }) {
  const { base } = usePage();
  return (
    <nav class="tabs" aria-label="Settings">
      {TABS.map(([page, label, below]) => {
        const isBelow =
          [page, ...below].some((one) => path.startsWith(`${base}/${one}/`)) ||
          below.some((one) => path === `${base}/${one}`);
        return (
          <a href={`${base}/${page}`} aria-current={path === `${base}/${page}` ? 'page' : isBelow ? 'true' : undefined}>
            {label}
            {page === 'refused' && refused > 0 && <span class="mark">&nbsp;{refused}</span>}
          </a>
        );
      })}
    </nav>
  );
}
