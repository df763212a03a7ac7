import { type Context, Hono } from 'hono';
import { isLive } from '../../domain/api-key.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { clientAddress } from '../../domain/client-address.ts';
import { errorOf, hasCode, type ServiceError } from '../../domain/errors.ts';
import { companyIds } from '../../domain/key-settings.ts';
import { isAllowedFrom } from '../../domain/networks.ts';
import { SCOPE_IDS } from '../../domain/record-kinds.ts';
import { countWritesSince, readLatestOfKey } from '../../services/audit/read-audit-log.ts';
import { listAdministratorNames } from '../../services/directory/administrators.ts';
import { listCompanies, searchCompanies } from '../../services/directory/companies.ts';
import { changeApiKey, findLockout } from '../../services/keys/change-key.ts';
import { getKeyRules } from '../../services/keys/change-key-rules.ts';
import { createApiKey, replaceApiKey } from '../../services/keys/create-key.ts';
import { readRecentUse, readUsage } from '../../services/keys/key-usage.ts';
import { readWorkflows } from '../../services/keys/key-workflows.ts';
import { getKeyAndDay, getOwnKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { listRefusedRequests } from '../../services/keys/refused-requests.ts';
import { readUsesOfKey } from '../../services/keys/refused-uses.ts';
import { rotateApiKey } from '../../services/keys/rotate-key.ts';
import type { AdminContext } from '../../services/service-context.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import {
  ALL_COMPANIES,
  allowRecentUse,
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
  withSomeCompanies,
} from './forms.ts';
import { redirectWith, todayOf } from './page-context.ts';
import { type Added, ChangeForm } from './pages/change-key-form.tsx';
import { KeyActions, KeyLead, KeyPage } from './pages/key.tsx';
import { NewKeyPage } from './pages/new-key.tsx';
import { NewKeyForm, preselectedExpiration, ReplaceForm, RotateForm } from './pages/new-key-forms.tsx';
import { render, renderForm, trail } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';

const LATEST_ENTRIES = 10;
const SHOWN_TEXT = 280;
const JUST_REVOKED_MS = 60_000;
const CHANGE_NOTICES = {
  changed: 'Saved. The change takes effect with the next request.',
  unchanged: 'No changes to save.',
};

export const keys = new Hono<AdminEnv>();

// --- create --------------------------------------------------------------------------------------

keys.get('/new-key', (c) => renderNewKey(c, crypto.randomUUID()));

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
  const offered = await companiesFor(c, form);
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

/** The companies to choose from in a form: those that it has, and those that its search finds. */
const companiesFor = (c: Context<AdminEnv>, { values }: FormState) =>
  searchCompanies(adminContext(c), selectedCompanies(values), searchedCompany(values));

const afterSearch = (values: URLSearchParams): FormState => ({ values: withSomeCompanies(values), messages: {} });

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

keys.post('/keys', async (c) => {
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

// --- one key -------------------------------------------------------------------------------------

keys.get('/keys/:key', async (c) => {
  const ctx = adminContext(c);
  const today = todayOf(c);
  const { key, written } = await getKeyAndDay(ctx, c.req.param('key'), today);
  const [entries, refused, { requests }, companies, usages, { workflows, rotation }] = await Promise.all([
    readLatestOfKey(ctx, key.id, LATEST_ENTRIES),
    readUsesOfKey(ctx, key.id),
    listRefusedRequests(ctx, { keyId: key.id }),
    listCompanies(ctx, companyIds(key.companies)),
    readUsage(ctx, [key.id], today),
    readWorkflows(ctx, key),
  ]);
  const usage = usages.get(key.id) ?? [];
  const since = ctx.now() - DAY_MS;
  const isJustRevoked = key.revokedAt !== null && ctx.now() - key.revokedAt < JUST_REVOKED_MS;
  const page = {
    subject: key,
    dayLimit: c.get('config').dayLimits.key,
    written,
    usage,
    entries: shownEntries(c, entries, SHOWN_TEXT),
    refused,
    requests,
    companies,
    workflows,
    rotation,
    lastDay: isJustRevoked ? { since, ...(await countWritesSince(ctx, key.id, since)) } : undefined,
  };
  return render(c, key.name, <KeyPage {...page} />, {
    trail: trail(c),
    lead: <KeyLead subject={key} refused={refused} />,
    actions: <KeyActions subject={key} refused={refused} />,
  });
});

keys.get('/keys/:key/change', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  requireLive(key);
  return openChange(c, key);
});

/** The form as it is opened, with one more address or company of a key that is limited to some. */
function openChange(c: Context<AdminEnv>, subject: KeyDetails, added?: Added) {
  const values = openedForm(settingsInForm(subject));
  const page = { subject, revision: subject.revision, form: { values } };
  if (!added || allowsAdded(subject, added)) return renderChange(c, page);
  if (added.address) values.set('allowedNetworks', `${values.get('allowedNetworks')}\n${added.address}`);
  if (added.company) values.append('companies', added.company);
  return renderChange(c, { ...page, added });
}

const allowsAdded = ({ allowedNetworks, companies }: KeyDetails, { address, company }: Added) =>
  address
    ? isAllowedFrom(allowedNetworks, address)
    : !company || companies === '' || companyIds(companies).includes(company);

async function renderChange(
  c: Context<AdminEnv>,
  page: Omit<Parameters<typeof ChangeForm>[0], 'seen' | 'exceeded' | 'owners' | 'offered'>,
): Promise<Response> {
  const ctx = adminContext(c);
  const { subject, form } = page;
  const [seen, uses, owners, offered] = await Promise.all([
    readRecentUse(ctx, subject.id, todayOf(c)),
    readUsesOfKey(ctx, subject.id),
    listAdministratorNames(ctx),
    companiesFor(c, form),
  ]);
  const exceeded = uses.flatMap(({ needsAttention, dayLimit }) => (needsAttention && dayLimit?.isOwn ? dayLimit : []));
  return renderForm(
    c,
    `Change ${subject.name}`,
    <ChangeForm {...{ ...page, seen, exceeded, owners, offered }} />,
    form,
    {
      trail: trail(c, subject),
    },
  );
}

keys.post('/keys/:key/change', async (c) => {
  const ctx = adminContext(c);
  const key = await getOwnKey(ctx, c.req.param('key'));
  requireLive(key);
  const values = await readForm(c);
  const allow = values.get('allow');
  if (allow !== null) return openChange(c, key, { address: clientAddress(allow) ?? undefined });
  const company = values.get('addCompany');
  if (company !== null) return openChange(c, key, { company });
  // The revision that the form showed, not a later one.
  const revision = shownCount(values, 'revision');
  const page = { subject: key, revision };
  if (searchedCompany(values) !== undefined) return renderChange(c, { ...page, form: afterSearch(values) });
  if (values.has('widened') || !values.has('confirmed')) {
    const lockout = await findLockout(ctx, key, chosenSettings(values), todayOf(c));
    // Only the addresses that the question showed are allowed.
    const shown = values.get('widened')?.split(' ');
    const isShown = shown && lockout?.addresses.every(({ address }) => shown.includes(address));
    if (lockout && !isShown) return renderChange(c, { ...page, form: { values, messages: {} }, lockout });
    if (lockout) allowRecentUse(values, lockout);
  }
  try {
    const result = await changeApiKey(ctx, key, chosenSettings(values), revision);
    return redirectWith(c, `/keys/${key.id}`, CHANGE_NOTICES[result]);
  } catch (err) {
    if (hasCode(err, 'invalid'))
      return renderChange(c, { ...page, form: { values, messages: messagesOf(err.errors) } });
    if (!hasCode(err, 'key_changed_meanwhile')) throw err;
    const current = await getOwnKey(ctx, key.id);
    requireLive(current);
    const form = { values: mergedForm(values, settingsInForm(current)), messages: {} };
    return renderChange(c, { subject: current, revision: current.revision, form, isConflict: true });
  }
});

// --- replace -------------------------------------------------------------------------------------

keys.get('/keys/:key/replace', async (c) => {
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
  const offered = await companiesFor(c, form);
  const page = <ReplaceForm {...{ ...shown, rules, today, owners, offered, form, lacksScope, workflows }} />;
  return renderForm(c, `Create the replacement of ${replaced.name}`, page, form, { trail: trail(c, replaced) });
}

keys.post('/keys/:key/replace', async (c) => {
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

// --- rotate --------------------------------------------------------------------------------------

keys.get('/keys/:key/rotate', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  requireLive(key);
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

keys.post('/keys/:key/rotate', async (c) => {
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

function requireLive(key: KeyDetails): void {
  if (!isLive(key.state)) throw errorOf('key_not_live');
}
