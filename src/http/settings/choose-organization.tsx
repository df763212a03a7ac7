import type { Context } from 'hono';
import { MAX_LISTED_ORGANIZATIONS } from '../../services/directory/administrators.ts';
import { countAdministered } from '../../services/directory/count-organizations.ts';
import { type AppEnv, serviceContext } from '../hono-env.ts';
import { ChooseOrganizationPage } from './pages/choose-organization-page.tsx';
import { render } from './render-page.tsx';
import { signedInAdministrations } from './sign-in.ts';

/** The page at /settings: the only organization of an administrator, or a choice of several. */
export async function chooseOrganization(c: Context<AppEnv>): Promise<Response> {
  const all = await signedInAdministrations(c);
  const [first, second] = all;
  // Never choose for the administrator: any tenant can name them as its own and be first by name.
  if (first && !second) return c.redirect(`/settings/${first.organization.id}/keys`, 303);
  const text = (c.req.query('q') ?? '').trim();
  const found = all.filter(({ organization: { id, name } }) =>
    [id, name].some((one) => one.toLowerCase().includes(text.toLowerCase())),
  );
  const counts = await countAdministered(serviceContext(c), found);
  const page = {
    organizations: found.map(({ organization }) => ({ ...organization, counts: counts.get(organization.id) })),
    text,
    total: all.length,
    isComplete: all.length < MAX_LISTED_ORGANIZATIONS,
    signOutPath: c.get('config').signIn?.signOutPath,
    settingsLinks: c.get('config').settingsLinks,
  };
  return render(c, 'Choose an organization', <ChooseOrganizationPage {...page} />);
}
