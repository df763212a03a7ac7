import type { Context } from 'hono';
import { MAX_LISTED_ORGANIZATIONS } from '../../services/directory/administrators.ts';
import { readOrganizationOverview } from '../../services/directory/organization-overview.ts';
import { type AppEnv, serviceContext } from '../hono-env.ts';
import { ChooseOrganizationPage } from './pages/choose-organization-page.tsx';
import { tabOf } from './pages/header.tsx';
import { render } from './render-page.tsx';
import { signedInAdministrations } from './sign-in.ts';

/**
 * The page at /settings: the only organization of an administrator, or a choice of several. A search that finds one
 * opens it, on the tab `tab`.
 */
export async function chooseOrganization(c: Context<AppEnv>): Promise<Response> {
  const all = await signedInAdministrations(c);
  const text = (c.req.query('q') ?? '').trim();
  const tab = tabOf(c.req.query('tab'));
  const found = all.filter(({ organization: { id, name } }) =>
    [id, name].some((one) => one.toLowerCase().includes(text.toLowerCase())),
  );
  // Never choose one of several: any tenant can name the administrator as its own and be first by name.
  const [only] = all.length === 1 ? all : text !== '' && found.length === 1 ? found : [];
  if (only) return c.redirect(`/settings/${only.organization.id}/${tab}`, 303);
  const { signIn, settingsLinks, receiver, dayLimits } = c.get('config');
  const page = {
    organizations: await readOrganizationOverview(serviceContext(c), found, {
      isPushed: receiver !== undefined,
      dayLimits,
    }),
    text,
    tab,
    total: all.length,
    isComplete: all.length < MAX_LISTED_ORGANIZATIONS,
    signOutPath: signIn?.signOutPath,
    settingsLinks,
  };
  return render(c, 'Choose an organization', <ChooseOrganizationPage {...page} />);
}
