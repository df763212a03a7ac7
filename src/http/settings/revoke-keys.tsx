import { type Context, Hono } from 'hono';
import type { ConfirmedSet } from '../../services/confirmed-set.ts';
import { countLiveKeys, getOwnKey, listKeysById } from '../../services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator, revokeSelectedKeys } from '../../services/keys/revoke-key.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type FormState, readForm } from './forms.ts';
import { keyListPath, readKeyQuery } from './key-query.ts';
import { pageContext, parametersOf, redirectWith, usePage } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { counted } from './pages/components.tsx';
import { ConfirmRevoke } from './pages/confirm.tsx';
import { Field } from './pages/form.tsx';
import { render, trail } from './render-page.tsx';

const NOTICES = {
  revoked: 'The key is revoked. Requests with it are now refused.',
  already_revoked: 'The key was already revoked.',
};
const revokedText = (keys: number) =>
  keys === 1 ? NOTICES.revoked : `${counted(keys, 'key')} are revoked. Requests with them are now refused.`;

/** The pages to revoke one key, the selected keys, or all of them. */
export const revokeKeys = new Hono<AdminEnv>();

revokeKeys.get('/keys/:key/revoke', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  const path = `/keys/${key.id}`;
  if (key.state === 'revoked') return redirectWith(c, path, NOTICES.already_revoked);
  const page = <ConfirmRevoke keys={[key]} action={c.req.path} cancel={`${pageContext(c).base}${path}`} />;
  return render(c, `Revoke ${key.name}${key.successor ? ' now' : ''}?`, page, { trail: trail(c, key) });
});

revokeKeys.post('/keys/:key/revoke', async (c) => {
  const keyId = c.req.param('key');
  const result = await revokeAsAdministrator(adminContext(c), keyId);
  return redirectWith(c, `/keys/${keyId}`, NOTICES[result]);
});

revokeKeys.get('/revoke-keys', async (c) => {
  const parameters = new URL(c.req.url).searchParams;
  const query = readKeyQuery(parameters);
  const list = keyListPath(pageContext(c).base, query);
  const selected = await listKeysById(adminContext(c), parameters.getAll('key'));
  const keys = selected.filter(({ state }) => state !== 'revoked');
  if (keys.length === 0) return c.redirect(list, 303);
  const title = keys.length === 1 ? 'Revoke 1 key?' : `Revoke ${keys.length} keys?`;
  const fields = [...keys.map(({ id }): [string, string] => ['key', id]), ...parametersOf(query)];
  const page = <ConfirmRevoke keys={keys} action={c.req.path} fields={fields} cancel={list} />;
  return render(c, title, page, { trail: trail(c) });
});

revokeKeys.post('/revoke-keys', async (c) => {
  const form = await readForm(c);
  const result = await revokeSelectedKeys(adminContext(c), form.getAll('key'));
  if (result.done.length < result.confirmed.length) throw partlyRevoked(result);
  return redirectWith(c, keyListPath('', readKeyQuery(form)), revokedText(result.done.length));
});

function partlyRevoked({ confirmed, done, failed, cause }: ConfirmedSet): PageProblem {
  const title = `${done.length} of ${counted(confirmed.length, 'key')} revoked`;
  const others = confirmed.length - done.length - failed.length;
  const details = [
    failed.length > 0 &&
      `${counted(failed.length, 'key')} may still work, because an error ended the request. Select and revoke them again.`,
    others > 0 && `${counted(others, 'key')} had already been revoked or do not exist.`,
  ];
  return new PageProblem(failed.length > 0 ? 503 : 409, title, details.filter(Boolean).join(' '), cause);
}

revokeKeys.get('/revoke-all', (c) => confirmRevokeAll(c));

revokeKeys.post('/revoke-all', async (c) => {
  const typed = (await readForm(c)).get('organization') ?? '';
  if (!isSameName(typed, c.get('administrator').organization.name)) return confirmRevokeAll(c, typed);
  const revoked = await revokeAllKeys(adminContext(c));
  return redirectWith(c, '/keys', revokedText(revoked));
});

/** Asks for the organization’s name; with the entered text, if that was another name. */
async function confirmRevokeAll(c: Context<AdminEnv>, typed?: string): Promise<Response> {
  const live = await countLiveKeys(adminContext(c));
  const values = new URLSearchParams({ organization: typed ?? '' });
  const messages = { organization: 'This is not the organization’s name. Nothing was revoked.' };
  const form = typed === undefined ? { values } : { values, messages };
  return render(c, 'Revoke all keys?', <ConfirmRevokeAll live={live} form={form} />, {
    status: typed === undefined ? 200 : 400,
    trail: trail(c),
  });
}

/** Whether two names are the same except for case and white space. */
function isSameName(one: string, other: string): boolean {
  const plain = (name: string) => name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();
  return plain(one) === plain(other);
}

function ConfirmRevokeAll({ live, form }: { live: number; form: FormState }) {
  const { base, organization } = usePage();
  const name = <bdi>{organization}</bdi>;
  if (live === 0)
    return (
      <p>
        The organization has no key in use. <a href={`${base}/keys`}>Go to the keys</a>
      </p>
    );
  return (
    <>
      <p>
        All keys of <strong>{name}</strong> ({live} in use) stop working immediately, and every automation stops
        writing. This cannot be undone. Each workflow then needs a new key.
      </p>
      <form method="post" class="form">
        <Field
          name="organization"
          form={form}
          control="line"
          label="Name of the organization"
          help={<>Type “{name}” to confirm.</>}
          required
        />
        <div class="actions">
          <button type="submit" class="danger">
            Revoke all keys
          </button>
          <a href={`${base}/keys`}>Cancel</a>
        </div>
      </form>
    </>
  );
}
