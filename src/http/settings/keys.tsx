import { type Context, Hono } from 'hono';
import { isLive } from '../../domain/api-key.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { hasCode, type ServiceError } from '../../domain/errors.ts';
import type { DefaultLimits } from '../../domain/key-settings.ts';
import { SCOPE_IDS } from '../../domain/scopes.ts';
import { pick } from '../../lib/objects.ts';
import { countWritesSince, readLatestOfKey } from '../../services/audit/read-audit-log.ts';
import { listAdministratorNames } from '../../services/directory/administrators.ts';
import { changeApiKey, findShutOut, listKeyChanges } from '../../services/keys/change-key.ts';
import { getKeyRules } from '../../services/keys/change-key-rules.ts';
import { createApiKey } from '../../services/keys/create-key.ts';
import { readRecentUse, readUsage } from '../../services/keys/key-usage.ts';
import { getKeyAndDay, getOwnKey, identifyKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { listRefusedUses } from '../../services/keys/refused-uses.ts';
import { revokeAsAdministrator } from '../../services/keys/revoke-key.ts';
import { keyAlreadyRotated, keyNotLive, rotateApiKey } from '../../services/keys/rotate-key.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import {
  chosenExpiry,
  chosenSettings,
  formToken,
  messagesOf,
  readForm,
  readFormValues,
  sameLifetime,
  shownCount,
  valuesOf,
  widen,
} from './forms.ts';
import { pageContext, todayOf } from './page-context.ts';
import { ConfirmRevokePage } from './pages/confirm.tsx';
import { bannerFor, KeyActions, KeyLead, KeyPage } from './pages/key.tsx';
import {
  ChangeForm,
  defaultExpiration,
  type FormValues,
  type Messages,
  NewKeyForm,
  RotateForm,
} from './pages/key-form.tsx';
import { AlreadyCreatedPage, NewKeyPage } from './pages/new-key.tsx';
import { WhichKeyPage } from './pages/which-key.tsx';
import { render, trail } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';

const LATEST_ENTRIES = 10;
const SHOWN_TEXT = 280;

function defaultLimits(c: Context<AdminEnv>): DefaultLimits {
  const { keyLimit, dayLimits } = c.get('config');
  return { requests: keyLimit, day: dayLimits.key };
}

export const keys = new Hono<AdminEnv>();

// --- create --------------------------------------------------------------------------------------

keys.get('/new-key', (c) => renderNewKey(c, crypto.randomUUID()));

/** The form for a new key: empty, or with the entered values and their errors. */
async function renderNewKey(
  c: Context<AdminEnv>,
  token: string,
  entered?: { values: FormValues; messages: Messages },
): Promise<Response> {
  const ctx = adminContext(c);
  const [rules, owners] = await Promise.all([getKeyRules(ctx), listAdministratorNames(ctx)]);
  const today = todayOf(c);
  const form = {
    token,
    rules,
    today,
    owners,
    limits: { defaults: defaultLimits(c) },
    isEntered: entered !== undefined,
  };
  const shown = entered ?? { values: defaultExpiration(rules, today), messages: {} };
  return render(c, 'Create a key', <NewKeyForm {...form} {...shown} />, {
    status: entered ? 400 : 200,
    hasErrors: entered !== undefined,
    trail: trail(c),
  });
}

function renderKeyOnce(c: Context<AdminEnv>, key: Omit<Parameters<typeof NewKeyPage>[0], 'origin'>): Promise<Response> {
  const page = { ...key, origin: new URL(c.req.url).origin };
  return render(c, 'Your new key', <NewKeyPage {...page} />, { trail: trail(c), isOnce: true });
}

keys.post('/keys', async (c) => {
  const { keyPrefix } = c.get('config');
  const defaults = defaultLimits(c);
  const form = await readForm(c);
  const token = formToken(form);
  const values = readFormValues(form);
  const scopes = SCOPE_IDS.filter((scope) => values.scopes?.includes(scope));
  const input = { ...chosenSettings(form, { defaults }), scopes, ...chosenExpiry(values, todayOf(c)) };
  try {
    const created = await createApiKey(adminContext(c), keyPrefix, input, token);
    return renderKeyOnce(c, { created, scopes, allowedNetworks: created.allowedNetworks });
  } catch (err) {
    if (hasCode(err, 'form_already_used')) return alreadyCreated(c, err);
    if (!hasCode(err, 'invalid')) throw err;
    return renderNewKey(c, token, { values, messages: messagesOf(err.errors, defaults) });
  }
});

/** The 409 response to a form that was submitted twice, with links to the key that it created. */
async function alreadyCreated(c: Context<AdminEnv>, { keyId = '' }: ServiceError): Promise<Response> {
  const created = await getOwnKey(adminContext(c), keyId);
  return render(c, 'This key was already created', <AlreadyCreatedPage created={created} />, {
    status: 409,
    trail: trail(c),
  });
}

// --- one key -------------------------------------------------------------------------------------

keys.get('/keys/:key', async (c) => {
  const ctx = adminContext(c);
  const today = todayOf(c);
  const { key, written } = await getKeyAndDay(ctx, c.req.param('key'), today);
  const other = key.successor ?? key.predecessor;
  const [entries, refused, usages] = await Promise.all([
    readLatestOfKey(ctx, key.id, LATEST_ENTRIES),
    listRefusedUses(ctx, key.id),
    readUsage(ctx, [key.id, ...(other ? [other.id] : [])], today),
  ]);
  const done = bannerFor(key, c.req.query('done'));
  const since = ctx.now() - DAY_MS;
  const page = {
    subject: key,
    defaults: defaultLimits(c),
    written,
    usage: usages.get(key.id) ?? [],
    otherUsage: other ? usages.get(other.id) : undefined,
    entries: shownEntries(c, entries, SHOWN_TEXT),
    refused,
    done,
    lately:
      done !== undefined && key.state === 'revoked'
        ? { since, ...(await countWritesSince(ctx, key.id, since)) }
        : undefined,
  };
  return render(c, key.name, <KeyPage {...page} />, {
    trail: trail(c),
    lead: <KeyLead subject={key} />,
    actions: <KeyActions subject={key} />,
  });
});

keys.get('/keys/:key/change', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  requireLive(key);
  const values = valuesOf(key);
  const allowedNetworks = [values.allowedNetworks, c.req.query('allow')].filter(Boolean).join('\n');
  return renderChange(c, key, { values: { ...values, allowedNetworks }, messages: {} }, 200);
});

async function renderChange(
  c: Context<AdminEnv>,
  key: KeyDetails,
  form: Pick<Parameters<typeof ChangeForm>[0], 'values' | 'messages' | 'changes' | 'shuts'>,
  status: 200 | 400 | 409,
): Promise<Response> {
  const ctx = adminContext(c);
  const [seen, owners] = await Promise.all([readRecentUse(ctx, key.id, todayOf(c)), listAdministratorNames(ctx)]);
  const limits = { defaults: defaultLimits(c), own: key };
  const page = { ...form, subject: key, seen, owners, limits, isEntered: status !== 200 };
  const hasErrors = status === 400;
  return render(c, `Change ${key.name}`, <ChangeForm {...page} />, { status, hasErrors, trail: trail(c, key) });
}

keys.post('/keys/:key/change', async (c) => {
  const ctx = adminContext(c);
  const defaults = defaultLimits(c);
  const key = await getOwnKey(ctx, c.req.param('key'));
  requireLive(key);
  const form = await readForm(c);
  const revision = shownCount(form, 'revision');
  const context = { defaults, own: key };
  const shuts = form.has('confirmed')
    ? undefined
    : await findShutOut(ctx, key, chosenSettings(form, context), todayOf(c));
  if (shuts && form.has('widened')) widen(form, shuts);
  const values = readFormValues(form);
  if (shuts && !form.has('widened')) return renderChange(c, { ...key, revision }, { values, messages: {}, shuts }, 409);
  try {
    const result = await changeApiKey(ctx, key, chosenSettings(form, context), revision);
    return c.redirect(`${pageContext(c).base}/keys/${key.id}?done=${result}`, 303);
  } catch (err) {
    if (hasCode(err, 'key_changed_meanwhile')) {
      const current = await getOwnKey(ctx, key.id);
      requireLive(current);
      const changes = await listKeyChanges(ctx, current, revision);
      return renderChange(c, current, { values, messages: {}, changes }, 409);
    }
    if (!hasCode(err, 'invalid')) throw err;
    // The revision that this form showed, not a later one.
    return renderChange(c, { ...key, revision }, { values, messages: messagesOf(err.errors, defaults) }, 400);
  }
});

// --- rotate --------------------------------------------------------------------------------------

keys.get('/keys/:key/rotate', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  requireLive(key);
  if (key.successor) throw keyAlreadyRotated();
  return renderRotate(c, key, crypto.randomUUID());
});

/** The form to rotate a key, with the entered values and their errors if it was sent. */
async function renderRotate(
  c: Context<AdminEnv>,
  subject: KeyDetails,
  token: string,
  entered?: { values: FormValues; messages: Messages },
): Promise<Response> {
  const rules = await getKeyRules(adminContext(c));
  const today = todayOf(c);
  const shown = entered ?? { values: { ...sameLifetime(subject, rules, today), grace: '24h' }, messages: {} };
  const form = { ...shown, token, today, rules, subject, isEntered: entered !== undefined };
  return render(c, `Rotate ${subject.name}`, <RotateForm {...form} />, {
    status: entered ? 400 : 200,
    hasErrors: entered !== undefined,
    trail: trail(c, subject),
  });
}

keys.post('/keys/:key/rotate', async (c) => {
  const { keyPrefix } = c.get('config');
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  const form = await readForm(c);
  const token = formToken(form);
  const values = readFormValues(form);
  try {
    const input = { grace: values.grace, ...chosenExpiry(values, todayOf(c)) };
    const created = await rotateApiKey(adminContext(c), keyPrefix, key, input, token);
    const replaced = await getOwnKey(adminContext(c), key.id);
    return renderKeyOnce(c, { created, ...pick(replaced, ['scopes', 'allowedNetworks']), replaced });
  } catch (err) {
    if (hasCode(err, 'form_already_used')) return alreadyCreated(c, err);
    if (!hasCode(err, 'invalid')) throw err;
    return renderRotate(c, key, token, { values, messages: messagesOf(err.errors, defaultLimits(c)) });
  }
});

// --- revoke --------------------------------------------------------------------------------------

keys.get('/keys/:key/revoke', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  if (key.state === 'revoked') return c.redirect(`${pageContext(c).base}/keys/${key.id}?done=already_revoked`, 303);
  return render(
    c,
    key.successor ? `Revoke ${key.name} now?` : `Revoke ${key.name}?`,
    <ConfirmRevokePage subject={key} />,
    { trail: trail(c, key) },
  );
});

keys.post('/keys/:key/revoke', async (c) => {
  const keyId = c.req.param('key');
  const result = await revokeAsAdministrator(adminContext(c), keyId);
  return c.redirect(`${pageContext(c).base}/keys/${keyId}?done=${result}`, 303);
});

// --- which key is this? --------------------------------------------------------------------------

keys.get('/which-key', (c) => render(c, 'Which key is this?', <WhichKeyPage found={undefined} />));

keys.post('/which-key', async (c) => {
  const pasted = (await readForm(c)).get('pasted') ?? '';
  const found = await identifyKey(adminContext(c), c.get('config').keyPrefix, pasted).catch((err: unknown) => {
    if (!hasCode(err, 'not_a_key')) throw err;
    return 'not_a_key' as const;
  });
  return render(c, 'Which key is this?', <WhichKeyPage found={found} />);
});

function requireLive(key: KeyDetails): void {
  if (!isLive(key.state)) throw keyNotLive();
}
