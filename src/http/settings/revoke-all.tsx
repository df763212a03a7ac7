import { type Context, Hono } from 'hono';
import { countLiveKeys } from '../../services/keys/read-keys.ts';
import { revokeAllKeys } from '../../services/keys/revoke-key.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { readForm } from './forms.ts';
import { pageContext } from './page-context.ts';
import { ConfirmRevokeAllPage } from './pages/confirm.tsx';
import { render, trail } from './render-page.tsx';

/** The page to revoke all keys. */
export const revokeAll = new Hono<AdminEnv>();

revokeAll.get('/revoke-all', (c) => confirmRevokeAll(c));

revokeAll.post('/revoke-all', async (c) => {
  const typed = (await readForm(c)).get('organization') ?? '';
  if (!isSameName(typed, c.get('administrator').organization.name)) return confirmRevokeAll(c, typed);
  await revokeAllKeys(adminContext(c));
  return c.redirect(`${pageContext(c).base}/keys?done=all_revoked`, 303);
});

/** Asks for the name of the organization; with the entered text, if that was another name. */
async function confirmRevokeAll(c: Context<AdminEnv>, typed?: string): Promise<Response> {
  const live = await countLiveKeys(adminContext(c));
  const { name } = c.get('administrator').organization;
  const page = { live, organization: name, typed };
  return render(c, 'Revoke all keys?', <ConfirmRevokeAllPage {...page} />, {
    status: typed === undefined ? 200 : 400,
    trail: trail(c),
  });
}

/** Whether two names are the same except for case and white space. */
function isSameName(one: string, other: string): boolean {
  const plain = (name: string) => name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();
  return plain(one) === plain(other);
}
