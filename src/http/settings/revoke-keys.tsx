import { zValidator } from '@hono/zod-validator';
import { type Context, Hono } from 'hono';
import * as z from 'zod/mini';
import { readWorkflows, readWorkflowsOf } from '../../services/keys/key-workflows.ts';
import { countLiveKeys, getOwnKey, listKeysById } from '../../services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator, revokeSelectedKeys } from '../../services/keys/revoke-key.ts';
import { searchable } from '../../services/keys/select-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type FormState, readForm } from './forms.ts';
import { renderKeyList } from './key-list.tsx';
import { keyListPath, readKeyQuery } from './key-query.ts';
import { pageContext, parametersOf, redirectWith, usePage } from './page-context.ts';
import { Cancel, counted } from './pages/components.tsx';
import { ConfirmRevocation } from './pages/confirm.tsx';
import { ErrorSummary, Field } from './pages/form.tsx';
import { render, renderForm, trail } from './render-page.tsx';

const NOTICES = {
  revoked: 'The key is revoked. Requests with it are now refused.',
  already_revoked: 'The key was already revoked.',
};
const revokedText = (keys: number) =>
  keys === 1 ? NOTICES.revoked : `${counted(keys, 'key')} are revoked. Requests with them are now refused.`;

/** The pages to revoke one key, several, and all. */
export const revokeKeys = new Hono<AdminEnv>();

revokeKeys.get('/keys/:key/revoke', async (c) => {
  const ctx = adminContext(c);
  const key = await getOwnKey(ctx, c.req.param('key'));
  const path = `/keys/${key.id}`;
  if (key.state === 'revoked') return redirectWith(c, path, NOTICES.already_revoked);
  const cancel = `${pageContext(c).base}${path}`;
  const uses = new Map([[key.id, await readWorkflows(ctx, key)]]);
  const page = <ConfirmRevocation {...{ uses, cancel }} action={c.req.path} button="Revoke" keys={[key]} />;
  return render(c, `Revoke ${key.name}${key.successor ? ' now' : ''}?`, page, { trail: trail(c, key) });
});

revokeKeys.post('/keys/:key/revoke', async (c) => {
  const keyId = c.req.param('key');
  const result = await revokeAsAdministrator(adminContext(c), keyId);
  return redirectWith(c, `/keys/${keyId}`, NOTICES[result]);
});

// --- several keys --------------------------------------------------------------------------------

/** Up to how many keys a confirmation lists with their workflows: each takes up to 1,000 rows. */
const MAX_WITH_WORKFLOWS = 20;

revokeKeys.get('/revoke-keys', async (c) => {
  const ctx = adminContext(c);
  const parameters = new URL(c.req.url).searchParams;
  const query = readKeyQuery(parameters);
  const selected = parameters.getAll('key');
  const keys = (await listKeysById(ctx, selected)).filter(({ state }) => state !== 'revoked');
  if (keys.length === 0) {
    const why = selected.length > 0 ? 'These keys are already revoked.' : 'No key was selected.';
    return renderKeyList(c, query, { why, selected });
  }
  const button = `Revoke ${counted(keys.length, 'key')}`;
  const uses = keys.length > MAX_WITH_WORKFLOWS ? undefined : await readWorkflowsOf(ctx, keys);
  const fields = [...keys.map(({ id }) => ['key', id] as const), ...parametersOf(query)];
  const cancel = keyListPath(pageContext(c).base, query);
  const page = <ConfirmRevocation {...{ keys, uses, action: c.req.path, fields, button, cancel }} />;
  return render(c, `${button}?`, page, { trail: trail(c) });
});

revokeKeys.post('/revoke-keys', async (c) => {
  const form = await readForm(c);
  const ids = [...new Set(form.getAll('key'))];
  const { length } = await revokeSelectedKeys(adminContext(c), ids);
  const others = `${length} of ${counted(ids.length, 'key')} are revoked now. The others already were.`;
  return redirectWith(c, keyListPath('', readKeyQuery(form)), length < ids.length ? others : revokedText(length));
});

// --- all keys ------------------------------------------------------------------------------------

revokeKeys.get('/revoke-all', (c) => confirmRevokeAll(c));

revokeKeys.post('/revoke-all', zValidator('form', z.object({ organization: z.catch(z.string(), '') })), async (c) => {
  const { organization: typed } = c.req.valid('form');
  if (searchable(typed) !== searchable(c.get('administrator').organization.name)) return confirmRevokeAll(c, typed);
  const revoked = await revokeAllKeys(adminContext(c));
  return redirectWith(c, '/keys', revokedText(revoked));
});

/** Asks for the organization’s name; with the entered text, if that was another name. */
async function confirmRevokeAll(c: Context<AdminEnv>, typed?: string): Promise<Response> {
  const live = await countLiveKeys(adminContext(c));
  if (live === 0) return redirectWith(c, '/keys', 'The organization has no key in use.');
  const values = new URLSearchParams({ organization: typed ?? '' });
  const messages = { organization: 'This is not the organization’s name.' };
  const form = typed === undefined ? { values } : { values, messages };
  return renderForm(c, 'Revoke all keys?', <ConfirmRevokeAll live={live} form={form} />, form, { trail: trail(c) });
}

function ConfirmRevokeAll({ live, form }: { live: number; form: FormState }) {
  const { base, organization } = usePage();
  const name = <bdi>{organization}</bdi>;
  return (
    <>
      <p>
        All keys of <strong>{name}</strong> ({live} in use) stop working immediately, and every automation stops
        writing. This cannot be undone.
      </p>
      <ErrorSummary
        nothing="Nothing was revoked."
        messages={form.messages}
        fields={[['organization', 'Name of the organization']]}
      />
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
          <Cancel to={`${base}/keys`} />
        </div>
      </form>
    </>
  );
}
