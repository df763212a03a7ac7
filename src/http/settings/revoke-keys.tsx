import { type Context, Hono } from 'hono';
import { countLiveKeys, findUnrevokedKeys } from '../../services/keys/read-keys.ts';
import { revokeAllKeys, revokeSelectedKeys } from '../../services/keys/revoke-key.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { readForm } from './forms.ts';
import { keyListPath, readKeyQuery } from './key-query.ts';
import { pageContext } from './page-context.ts';
import { ConfirmRevokeAllPage, ConfirmRevokeKeysPage } from './pages/confirm.tsx';
import { render, trail } from './render-page.tsx';

/** The pages to revoke the selected keys, or all of them. */
export const revokeKeys = new Hono<AdminEnv>();

revokeKeys.get('/revoke-keys', async (c) => {
  const parameters = new URL(c.req.url).searchParams;
  const query = readKeyQuery(parameters);
  const keys = await findUnrevokedKeys(adminContext(c), parameters.getAll('key'));
  if (keys.length === 0) return c.redirect(keyListPath(pageContext(c).base, query), 303);
  const title = keys.length === 1 ? 'Revoke 1 key?' : `Revoke ${keys.length} keys?`;
  return render(c, title, <ConfirmRevokeKeysPage keys={keys} query={query} />, { trail: trail(c) });
});

revokeKeys.post('/revoke-keys', async (c) => {
  const form = await readForm(c);
  const revoked = await revokeSelectedKeys(adminContext(c), form.getAll('key'));
  const list = keyListPath(pageContext(c).base, readKeyQuery(form));
  return c.redirect(`${list}${list.includes('?') ? '&' : '?'}revoked=${revoked}`, 303);
});

revokeKeys.get('/revoke-all', (c) => confirmRevokeAll(c));

revokeKeys.post('/revoke-all', async (c) => {
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
