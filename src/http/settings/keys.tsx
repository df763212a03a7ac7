import { type Context, Hono } from 'hono';
import { isLive, SCOPE_IDS } from '../../domain/api-key.ts';
import { FormAlreadyUsed, Invalid } from '../../domain/errors.ts';
import type { AdministratorScope, SettingsEnv } from '../../env.ts';
import { changeApiKey, createApiKey, revokeAllApiKeys, revokeApiKey, rotateApiKey } from '../../services/keys/change-keys.ts';
import { readAuditLog } from '../../services/audit/read-audit-log.ts';
import { everyKey, getKey, identifyKey, type KeyDetails, listKeys } from '../../services/keys/read-keys.ts';
import { listRefusedUses, listRevokedKeysTried } from '../../services/keys/refused-uses.ts';
import { adminContext } from '../service-context.ts';
import { csvDownload, utc } from './download.ts';
import { chosenExpiry, chosenLimit, formToken, messagesOf, readForm, sameLifetime, shownKey, typed } from './forms.ts';
import { notFound, PageProblem } from './page-problem.ts';
import { ConfirmRevokeAllPage, ConfirmRevokePage } from './pages/confirm.tsx';
import { doneTo, KeyPage } from './pages/key.tsx';
import { ChangeForm, NewKeyForm, RotateForm } from './pages/key-form.tsx';
import { KeyListPage } from './pages/key-list.tsx';
import { AlreadyMadePage, NewKeyPage } from './pages/new-key.tsx';
import { scopeLabels, stateLabel } from './pages/components.tsx';
import { WhichKeyPage } from './pages/which-key.tsx';
import { placeOf, todayOf } from './page-context.ts';
import { render } from './render.tsx';

/** For how long after the last attempt the list warns of a revoked key that is still being tried. */
const WARN_OF_TRIED_MS = 7 * 24 * 3_600_000;

/** Audit entries on a key's page. */
const LATEST_ENTRIES = 10;

/** The pages that show, make and end keys. */
export const keys = new Hono<SettingsEnv>();

keys.get('/keys', async (c) => {
  const ctx = adminContext(c);
  const before = c.req.query('before');
  const [list, tried] = await Promise.all([listKeys(ctx, before), listRevokedKeysTried(ctx, c.get('now')() - WARN_OF_TRIED_MS)]);
  const { hasPsa } = c.get('administrator').organization;
  const allRevoked = c.req.query('done') === 'all_revoked' && list.live.length === 0;
  const page = { ...list, place: placeOf(c), tried, continued: before !== undefined, hasPsa, allRevoked };
  return render(c, 'API keys', <KeyListPage {...page} />);
});

const CSV_HEADINGS = [
  'Name',
  'Hint',
  'Scopes',
  'State',
  'Created',
  'Created by',
  'Creator active',
  'Last write',
  'Last write from',
  'Expires',
  'Revoked',
  'Revoked by',
  'Replaced by',
];

keys.get('/keys.csv', (c) => csvDownload('api-keys.csv', CSV_HEADINGS, keyLines(everyKey(adminContext(c)))));

async function* keyLines(pages: AsyncIterable<readonly KeyDetails[]>) {
  for await (const page of pages) {
    yield page.map((key) => [
      key.name,
      key.hint,
      scopeLabels(key.scopes),
      stateLabel(key.state),
      utc(key.createdAt),
      key.createdBy,
      key.creatorActive ? 'yes' : 'no',
      utc(key.lastWrite?.at ?? null),
      key.lastWrite?.from ?? null,
      utc(key.expiresAt),
      utc(key.revokedAt),
      key.revokedBy,
      key.successor?.hint ?? null,
    ]);
  }
}

// --- create ----------------------------------------------------------------------------------------------------------------------

keys.get('/new-key', (c) => {
  const form = { place: placeOf(c), token: crypto.randomUUID(), values: { expiration: 'none' }, messages: {}, today: todayOf(c) };
  return render(c, 'Create a key', <NewKeyForm {...form} defaultLimit={c.get('settings').keyLimit} />);
});

keys.post('/keys', async (c) => {
  const { keyPrefix, keyLimit } = c.get('settings');
  const form = await readForm(c);
  const token = formToken(form);
  const values = typed(form);
  const today = todayOf(c);
  const scopes = SCOPE_IDS.filter((scope) => values.scopes?.includes(scope));
  const input = { name: values.name ?? '', scopes, ...chosenExpiry(values, today), ...chosenLimit(values, keyLimit) };
  try {
    const created = await createApiKey(adminContext(c), keyPrefix, input, token);
    const shown = { place: placeOf(c), created, scopes, origin: new URL(c.req.url).origin };
    return render(c, 'Your new key', <NewKeyPage {...shown} />);
  } catch (err) {
    if (err instanceof FormAlreadyUsed) return alreadyMade(c, err);
    if (!(err instanceof Invalid)) throw err;
    const again = { place: placeOf(c), token, values, messages: messagesOf(err.errors), today };
    return render(c, 'Create a key', <NewKeyForm {...again} defaultLimit={keyLimit} />, 400);
  }
});

/** Answers a form that was sent twice: 409, with what can be done about the key that it made. */
async function alreadyMade(c: Context<SettingsEnv>, { keyId }: FormAlreadyUsed): Promise<Response> {
  const made = await ownKey(c, keyId);
  return render(c, 'The key was made already', <AlreadyMadePage place={placeOf(c)} made={made} />, 409);
}

// --- one key ---------------------------------------------------------------------------------------------------------------------

/** The key that an address names. @throws PageProblem 404 */
async function ownKey(c: AdministratorScope, keyId: string): Promise<KeyDetails> {
  const key = await getKey(adminContext(c), keyId);
  if (!key) throw notFound('key');
  return key;
}

keys.get('/keys/:key', async (c) => {
  const ctx = adminContext(c);
  const key = await ownKey(c, c.req.param('key'));
  const [{ rows }, refused] = await Promise.all([readAuditLog(ctx, { keyId: key.id }), listRefusedUses(ctx, key.id)]);
  const { keyLimit } = c.get('settings');
  const page = { place: placeOf(c), subject: key, defaultLimit: keyLimit, entries: rows.slice(0, LATEST_ENTRIES), refused };
  return render(c, key.name, <KeyPage {...page} done={doneTo(key, c.req.query('done'))} />);
});

keys.get('/keys/:key/change', async (c) => {
  const key = await ownKey(c, c.req.param('key'));
  requireLive(key);
  const values = { name: key.name, ...(key.limit ? { limit: String(key.limit.quota) } : {}) };
  const form = { place: placeOf(c), values, messages: {}, shown: key, defaultLimit: c.get('settings').keyLimit };
  return render(c, `Change ${key.name}`, <ChangeForm {...form} />);
});

keys.post('/keys/:key/change', async (c) => {
  const { keyLimit } = c.get('settings');
  const key = await ownKey(c, c.req.param('key'));
  requireLive(key);
  const form = await readForm(c);
  const shown = shownKey(form, key.id);
  const values = typed(form);
  try {
    const result = await changeApiKey(adminContext(c), shown, { name: values.name ?? '', ...chosenLimit(values, keyLimit, shown.limit) });
    if (result === 'not_live') throw NOT_LIVE;
    if (result === 'overtaken') throw OVERTAKEN;
    return c.redirect(`${placeOf(c).base}/keys/${key.id}?done=${result}`, 303);
  } catch (err) {
    if (!(err instanceof Invalid)) throw err;
    const again = { place: placeOf(c), values, messages: messagesOf(err.errors), shown, defaultLimit: keyLimit };
    return render(c, `Change ${key.name}`, <ChangeForm {...again} />, 400);
  }
});

// --- rotate ----------------------------------------------------------------------------------------------------------------------

keys.get('/keys/:key/rotate', async (c) => {
  const key = await ownKey(c, c.req.param('key'));
  requireLive(key);
  if (key.successor) throw ALREADY_ROTATED;
  const today = todayOf(c);
  const values = { ...sameLifetime(key, today), grace: '24h' };
  const form = { place: placeOf(c), token: crypto.randomUUID(), values, messages: {}, today, keyId: key.id };
  return render(c, `Rotate ${key.name}`, <RotateForm {...form} />);
});

keys.post('/keys/:key/rotate', async (c) => {
  const { keyPrefix } = c.get('settings');
  const key = await ownKey(c, c.req.param('key'));
  const form = await readForm(c);
  const token = formToken(form);
  const values = typed(form);
  const today = todayOf(c);
  try {
    const input = { grace: values.grace, ...chosenExpiry(values, today) };
    const result = await rotateApiKey(adminContext(c), keyPrefix, key, input, token);
    if (result.outcome === 'not_found') throw notFound('key');
    if (result.outcome === 'not_live') throw NOT_LIVE;
    if (result.outcome === 'already_rotated') throw ALREADY_ROTATED;
    const replaced = await ownKey(c, key.id);
    const { scopes } = replaced;
    const shown = { place: placeOf(c), created: result.key, scopes, origin: new URL(c.req.url).origin, replaced };
    return render(c, 'Your new key', <NewKeyPage {...shown} />);
  } catch (err) {
    if (err instanceof FormAlreadyUsed) return alreadyMade(c, err);
    if (!(err instanceof Invalid)) throw err;
    const again = { place: placeOf(c), token, values, messages: messagesOf(err.errors), today, keyId: key.id };
    return render(c, `Rotate ${key.name}`, <RotateForm {...again} />, 400);
  }
});

// --- revoke ----------------------------------------------------------------------------------------------------------------------

keys.get('/keys/:key/revoke', async (c) => {
  const key = await ownKey(c, c.req.param('key'));
  if (key.state === 'revoked') return c.redirect(`${placeOf(c).base}/keys/${key.id}?done=already_revoked`, 303);
  return render(c, key.successor ? `End ${key.name} now?` : `Revoke ${key.name}?`, <ConfirmRevokePage place={placeOf(c)} subject={key} />);
});

keys.post('/keys/:key/revoke', async (c) => {
  const keyId = c.req.param('key');
  const result = await revokeApiKey(adminContext(c), keyId);
  if (result === 'not_found') throw notFound('key');
  return c.redirect(`${placeOf(c).base}/keys/${keyId}?done=${result}`, 303);
});

keys.get('/revoke-all', async (c) => {
  const { live } = await listKeys(adminContext(c));
  const { name } = c.get('administrator').organization;
  return render(c, 'Revoke all keys?', <ConfirmRevokeAllPage place={placeOf(c)} live={live.length} organization={name} />);
});

keys.post('/revoke-all', async (c) => {
  await revokeAllApiKeys(adminContext(c));
  return c.redirect(`${placeOf(c).base}/keys?done=all_revoked`, 303);
});

// --- which key is this? ----------------------------------------------------------------------------------------------------------

keys.get('/which-key', (c) => render(c, 'Which key is this?', <WhichKeyPage place={placeOf(c)} found={undefined} />));

keys.post('/which-key', async (c) => {
  const pasted = (await readForm(c)).get('pasted') ?? '';
  const found = await identifyKey(adminContext(c), c.get('settings').keyPrefix, pasted);
  return render(c, 'Which key is this?', <WhichKeyPage place={placeOf(c)} found={found} />);
});

// --- refusals --------------------------------------------------------------------------------------------------------------------

const NOT_LIVE = new PageProblem(
  409,
  'This key is not in use',
  'It has expired or was revoked, which cannot be undone. Create a new key instead.',
);
const OVERTAKEN = new PageProblem(
  409,
  'Somebody else was faster',
  'Somebody has changed the key since you opened the form, so nothing was saved. Open it again and see what it is now.',
);
const ALREADY_ROTATED = new PageProblem(
  409,
  'This key was rotated already',
  'A key has one successor at most. Open the key to see its successor; rotate that one if need be.',
);

function requireLive(key: KeyDetails): void {
  if (!isLive(key.state)) throw NOT_LIVE;
}
