import { type Context, Hono } from 'hono';
import { isLive } from '../../domain/api-key.ts';
import { errorOf, hasCode, type ServiceError } from '../../domain/errors.ts';
import { companyIds } from '../../domain/key-settings.ts';
import { SCOPE_IDS } from '../../domain/record-kinds.ts';
import { listAdministratorNames } from '../../services/directory/administrators.ts';
import { listCompanies, searchCompanies } from '../../services/directory/companies.ts';
import { getKeyRules } from '../../services/keys/change-key-rules.ts';
import { createApiKey, replaceApiKey } from '../../services/keys/create-key.ts';
import { readWorkflows } from '../../services/keys/key-workflows.ts';
import { getLiveKey, getOwnKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { readUsesOfKey } from '../../services/keys/refused-uses.ts';
import { rotateApiKey } from '../../services/keys/rotate-key.ts';
import type { AdminContext } from '../../services/service-context.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import {
  ALL_COMPANIES,
  afterSearch,
  chosenExpiry,
  chosenSettings,
  type FormState,
  formToken,
  mergedForm,
  messagesOf,
  openedForm,
  readForm,
  searchedCompany,
  selectedCompanies,
  settingsInForm,
  shownCount,
} from './forms.ts';
import { redirectWith, todayOf } from './page-context.ts';
import { NewKeyPage } from './pages/new-key.tsx';
import { NewKeyForm, preselectedExpiration, ReplaceForm, RotateForm } from './pages/new-key-forms.tsx';
import { render, renderForm, trail } from './render-page.tsx';

/** The forms that create a key, and the page that shows its value once: for a new one, and in the place of another. */
export const newKey = new Hono<AdminEnv>();

newKey.get('/new-key', (c) => renderNewKey(c, crypto.randomUUID()));

async function renderNewKey(c: Context<AdminEnv>, token: string, sent?: FormState): Promise<Response> {
  const ctx = adminContext(c);
  const keyId = c.req.query('like');
  const [rules, owners, like] = await Promise.all([
    getKeyRules(ctx),
    listAdministratorNames(ctx),
    keyId === undefined ? undefined : getOwnKey(ctx, keyId),
  ]);
  const today = todayOf(c);
  const form = sent ?? { values: newKeyValues(preselectedExpiration(rules, today, like), like) };
  // The name of a key that works is in use.
  if (!sent && like && like.state !== 'revoked') form.values.delete('name');
  const asked = new Set<string>(c.req.queries('scopes'));
  if (!sent && !like) for (const scope of SCOPE_IDS) if (asked.has(scope)) form.values.append('scopes', scope);
  const offered = await searchCompanies(ctx, selectedCompanies(form.values), searchedCompany(form.values));
  const page = <NewKeyForm {...{ token, rules, today, owners, offered, form, like }} />;
  const isRefused = Object.keys(form.messages ?? {}).length > 0;
  return renderForm(c, isRefused ? 'The key was not created' : 'Create a key', page, form, { trail: trail(c, like) });
}

/** The values of a form for a new key: of all companies, or like another key. */
function newKeyValues(expiration: Record<string, string>, like: KeyDetails | undefined): URLSearchParams {
  const values = new URLSearchParams(like ? settingsInForm(like) : { companies: ALL_COMPANIES });
  for (const scope of like?.scopes ?? []) values.append('scopes', scope);
  for (const [name, value] of Object.entries(expiration)) values.set(name, value);
  return values;
}

/** What the form for a new key, or for one that takes the place of another, asks for. */
const chosenKey = (c: Context<AdminEnv>, values: URLSearchParams) => ({
  ...chosenSettings(values),
  scopes: SCOPE_IDS.filter((scope) => values.has('scopes', scope)),
  ...chosenExpiry(values, todayOf(c)),
});

function renderKeyOnce(c: Context<AdminEnv>, key: Omit<Parameters<typeof NewKeyPage>[0], 'origin'>): Promise<Response> {
  const page = { ...key, origin: new URL(c.req.url).origin };
  return render(c, 'Your new key', <NewKeyPage {...page} />, { trail: trail(c), isOnce: true });
}

/**
 * What the page of a new key shows of others. Read before the key is created: a failed read after it would lose the value.
 */
async function readBeforeKey(ctx: AdminContext, ids: readonly string[], old?: KeyDetails) {
  const [[company], { workflows }] = await Promise.all([
    ids.length === 1 ? listCompanies(ctx, ids) : [],
    old ? readWorkflows(ctx, old) : { workflows: [] },
  ]);
  return { company, workflows };
}

newKey.post('/keys', async (c) => {
  const { keyPrefix } = c.get('config');
  const values = await readForm(c);
  const token = formToken(values);
  if (searchedCompany(values) !== undefined) return renderNewKey(c, token, afterSearch(values));
  try {
    const shown = await readBeforeKey(adminContext(c), selectedCompanies(values));
    const created = await createApiKey(adminContext(c), keyPrefix, chosenKey(c, values), token);
    return renderKeyOnce(c, { created, ...shown });
  } catch (err) {
    if (hasCode(err, 'form_already_used')) return alreadyCreated(c, err);
    if (!hasCode(err, 'invalid')) throw err;
    return renderNewKey(c, token, { values, messages: messagesOf(err.errors) });
  }
});

/** A form that was submitted twice leads to the key that it created. */
const alreadyCreated = (c: Context<AdminEnv>, { info: { keyId } }: ServiceError) =>
  redirectWith(
    c,
    `/keys/${keyId}`,
    'This form had already created this key, so no second one was created. Its value was shown once: rotate the key if you did not copy it.',
  );

newKey.get('/keys/:key/replace', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  if (key.successor) throw errorOf('key_already_rotated', { keyId: key.successor.id });
  return renderReplace(c, { replaced: key, revision: key.revision, token: crypto.randomUUID() });
});

async function renderReplace(
  c: Context<AdminEnv>,
  shown: Pick<Parameters<typeof ReplaceForm>[0], 'replaced' | 'revision' | 'token' | 'isConflict'>,
  sent?: FormState,
) {
  const { replaced, isConflict } = shown;
  const ctx = adminContext(c);
  const [rules, owners, { workflows }, uses] = await Promise.all([
    getKeyRules(ctx),
    listAdministratorNames(ctx),
    readWorkflows(ctx, replaced),
    readUsesOfKey(ctx, replaced.id),
  ]);
  const today = todayOf(c);
  const lacksScope = uses.some(({ reason, needsAttention }) => reason === 'scope_missing' && needsAttention);
  const like = lacksScope ? { ...replaced, scopes: [...SCOPE_IDS] } : replaced;
  const current = [...newKeyValues({ ...preselectedExpiration(rules, today, replaced), grace: '24h' }, like)];
  const form =
    sent && isConflict
      ? { ...sent, values: mergedForm(sent.values, current) }
      : (sent ?? { values: openedForm(current) });
  const offered = await searchCompanies(ctx, selectedCompanies(form.values), searchedCompany(form.values));
  const page = <ReplaceForm {...{ ...shown, rules, today, owners, offered, form, lacksScope, workflows }} />;
  return renderForm(c, `Create the replacement of ${replaced.name}`, page, form, { trail: trail(c, replaced) });
}

newKey.post('/keys/:key/replace', async (c) => {
  const { keyPrefix } = c.get('config');
  const ctx = adminContext(c);
  const key = await getOwnKey(ctx, c.req.param('key'));
  const values = await readForm(c);
  const token = formToken(values);
  // The revision that the form showed, not a later one.
  const page = { replaced: key, revision: shownCount(values, 'revision'), token };
  if (searchedCompany(values) !== undefined) return renderReplace(c, page, afterSearch(values));
  try {
    const grace = isLive(key.state) && { grace: values.get('grace') };
    const shown = await readBeforeKey(ctx, selectedCompanies(values), key);
    const input = { ...chosenKey(c, values), ...grace };
    const created = await replaceApiKey(ctx, keyPrefix, key, input, token, page.revision);
    return renderKeyOnce(c, { created, replaced: created.replaced, ...shown });
  } catch (err) {
    if (hasCode(err, 'form_already_used')) return alreadyCreated(c, err);
    if (hasCode(err, 'invalid')) return renderReplace(c, page, { values, messages: messagesOf(err.errors) });
    if (!hasCode(err, 'key_changed_meanwhile')) throw err;
    const replaced = await getOwnKey(ctx, key.id);
    const changed = { replaced, revision: replaced.revision, token, isConflict: true };
    return renderReplace(c, changed, { values, messages: {} });
  }
});

newKey.get('/keys/:key/rotate', async (c) => {
  const key = await getLiveKey(adminContext(c), c.req.param('key'));
  if (key.successor) throw errorOf('key_already_rotated', { keyId: key.successor.id });
  return renderRotate(c, key, crypto.randomUUID());
});

async function renderRotate(c: Context<AdminEnv>, subject: KeyDetails, token: string, sent?: FormState) {
  const ctx = adminContext(c);
  const [rules, { workflows }] = await Promise.all([getKeyRules(ctx), readWorkflows(ctx, subject)]);
  const today = todayOf(c);
  const preselected = { ...preselectedExpiration(rules, today, subject), grace: '24h' };
  const form = sent ?? { values: new URLSearchParams(preselected) };
  const page = <RotateForm {...{ form, token, today, rules, subject, workflows }} />;
  return renderForm(c, `Rotate ${subject.name}`, page, form, { trail: trail(c, subject) });
}

newKey.post('/keys/:key/rotate', async (c) => {
  const { keyPrefix } = c.get('config');
  const ctx = adminContext(c);
  const key = await getOwnKey(ctx, c.req.param('key'));
  const values = await readForm(c);
  const token = formToken(values);
  try {
    const input = { grace: values.get('grace') ?? undefined, ...chosenExpiry(values, todayOf(c)) };
    const shown = await readBeforeKey(ctx, companyIds(key.companies), key);
    const created = await rotateApiKey(ctx, keyPrefix, key, input, token);
    return renderKeyOnce(c, { created, replaced: created.replaced, ...shown });
  } catch (err) {
    if (hasCode(err, 'form_already_used')) return alreadyCreated(c, err);
    if (!hasCode(err, 'invalid')) throw err;
    return renderRotate(c, key, token, { values, messages: messagesOf(err.errors) });
  }
});
