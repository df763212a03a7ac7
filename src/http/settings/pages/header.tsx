import type { Administrator } from '../../hono-env.ts';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { Menu, SearchForm, waitingText } from './components.tsx';

/** The tabs: the last part of their addresses, and their titles. */
const TABS = [
  ['keys', 'API keys'],
  ['time', 'Time'],
  ['audit', 'Audit log'],
  ['refused', 'Refused requests'],
  ['key-rules', 'Key rules'],
] as const;

/** Where the help for administrators explains a tab; at the top for the keys. */
const HELP = { keys: '', time: '#approval', audit: '#audit', refused: '#refused', 'key-rules': '#rules' };

/** A file has the tab of its list: `time-totals.csv` that of `time`. */
const ownTabOf = (page = '') => TABS.find(([tab]) => tab === page.replace(/(-[a-z]+)?\.csv$/, ''))?.[0];

/** The tab of a page, from the part of its address after the organization; the keys for any other page. */
export const tabOf = (page?: string) => ownTabOf(page) ?? 'keys';

interface TabsProps {
  path: string;
  /** Whether there is no such page. */
  isMissing: boolean;
  administrator: Administrator;
}

/**
 * The pages of an organization. A page below one of them keeps its tab marked. Where the PSA decides about time and none waits
 * here, the tab of time opens all of it.
 */
export function AreaTabs({ path, isMissing, administrator: { refused, waiting, organization } }: TabsProps) {
  const { base } = usePage();
  const [, , , page] = path.split('/');
  const current = isMissing ? ownTabOf(page) : tabOf(page);
  const counts: Partial<Record<string, string>> = {
    refused: refused > 99 ? '99+' : `${refused || ''}`,
    time: waiting > 0 ? waitingText(waiting) : '',
  };
  return (
    <nav class="tabs" aria-label="Settings">
      {TABS.map(([tab, title]) => {
        return (
          <a
            href={`${base}/${tab}${tab === 'time' && !waiting && organization.approvals === 'psa' ? '?state=all' : ''}`}
            aria-current={path === `${base}/${tab}` ? 'page' : tab === current ? 'true' : undefined}
          >
            {title}
            {counts[tab] && <span class="mark">&nbsp;{counts[tab]}</span>}
          </a>
        );
      })}
    </nav>
  );
}

interface Props {
  administrator: Administrator | undefined;
  /** The email address of the person who is signed in. */
  email: string | undefined;
  /** Their name, if no organization is open and all have the same. */
  userName: string | undefined;
  path: string;
  signOutPath: string | undefined;
}

/** The organization, the documentation and the user, as far as the page knows them. */
export function Bar({ administrator, email, userName, path, signOutPath }: Props) {
  const tab = tabOf(path.split('/')[3]);
  return (
    <>
      {administrator && <OrganizationSwitcher {...{ administrator, tab }} />}
      <a class="bar-link" href="/docs">
        <Icon name="book" />
        <span>Documentation</span>
      </a>
      {email !== undefined && (
        <UserMenu {...{ administrator, email, userName, signOutPath, help: `/docs/administrators${HELP[tab]}` }} />
      )}
    </>
  );
}

interface UserProps extends Pick<Props, 'administrator' | 'userName' | 'signOutPath'> {
  email: string;
  help: string;
}

function UserMenu({ administrator, email, userName, signOutPath, help }: UserProps) {
  // Each organization can have another name.
  const name = administrator?.userName ?? userName;
  const summary = (
    <>
      <Icon name="user" />
      <bdi>{name ?? email}</bdi>
      <span class="visually-hidden">Your account</span>
      <Icon name="down" />
    </>
  );
  return (
    <Menu summary={summary} group="header" kind="user">
      <p>
        {name !== undefined && (
          <strong>
            <bdi>{name}</bdi>
          </strong>
        )}
        <bdi class="minor">{email}</bdi>
      </p>
      {administrator && (
        <a href={`/settings/${administrator.organization.id}/key-rules#administrators`}>Administrators</a>
      )}
      <a href={help}>Help for administrators</a>
      {signOutPath && (
        <a href={signOutPath} data-sign-out>
          Sign out
        </a>
      )}
    </Menu>
  );
}

interface SwitcherProps {
  administrator: Administrator;
  /** The page of another organization that its link opens. */
  tab: string;
}

/**
 * The name of the organization, and a menu if there are others: this one first, the others in natural order. Their
 * overview says how much needs attention.
 */
function OrganizationSwitcher({ administrator: { organization, organizations }, tab }: SwitcherProps) {
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
      <FindOrganization id="switch" total={organizations.length} text={undefined} tab={tab} />
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
      <a href={`/settings?tab=${tab}`} class="overview">
        Overview of all organizations
      </a>
    </Menu>
  );
}

interface FindProps extends Pick<SwitcherProps, 'tab'> {
  id: string;
  total: number;
  text: string | undefined;
}

/** With that many organizations, a search finds one. */
const MIN_SEARCHED = 5;

/** Finds organizations by a part of their name or id, and opens the only one that matches. */
export const FindOrganization = ({ total, tab, ...field }: FindProps) =>
  total < MIN_SEARCHED ? null : (
    <SearchForm {...field} to="/settings" label={`Search ${total} organizations`} fields={[['tab', tab]]} />
  );
