import type { Administrator } from '../../context.ts';
import { Icon, ProductMark } from './icon.tsx';
import { OrganizationSwitcher } from './organization-switcher.tsx';

const TABS = [
  ['keys', 'API keys', ['new-key', 'revoke-all', 'review', 'reviews']],
  ['audit', 'Audit log', []],
  ['refused', 'Refused uses', []],
  ['policy', 'Policy', []],
  ['which-key', 'Which key is this?', []],
] as const;

interface Props {
  administrator: Administrator | undefined;
  path: string;
  signOutPath: string | undefined;
}

/** The header of every page. Without an administrator it has the name of the product only. */
export function Header({ administrator, path, signOutPath }: Props) {
  return (
    <header>
      <div class="bar">
        <a class="brand" href="/settings">
          <ProductMark />
          <span>Ticket Write-Back</span>
        </a>
        {administrator && <OrganizationSwitcher administrator={administrator} />}
        <a class="bar-link" href="/docs">
          <Icon name="book" />
          <span>Documentation</span>
        </a>
        {administrator && (
          <span class="user">
            <bdi>{administrator.userName}</bdi>
            {signOutPath && <a href={signOutPath}>Sign out</a>}
          </span>
        )}
      </div>
      {administrator && <Tabs base={`/settings/${administrator.organization.id}`} path={path} />}
    </header>
  );
}

/** The pages of an organization. A page below one of them keeps its tab marked. */
function Tabs({ base, path }: { base: string; path: string }) {
  return (
    <nav class="tabs" aria-label="Settings">
      {TABS.map(([page, label, below]) => {
        const isBelow =
          [page, ...below].some((one) => path.startsWith(`${base}/${one}/`)) ||
          below.some((one) => path === `${base}/${one}`);
        return (
          <a href={`${base}/${page}`} aria-current={path === `${base}/${page}` ? 'page' : isBelow ? 'true' : undefined}>
            {label}
          </a>
        );
      })}
    </nav>
  );
}
