import { type Context, Hono } from 'hono';
import { DAY_MS } from '../../domain/calendar.ts';
import { clientAddress } from '../../domain/client-address.ts';
import { hasCode } from '../../domain/errors.ts';
import { companyIds } from '../../domain/key-settings.ts';
import { isAllowedFrom } from '../../domain/networks.ts';
import { countWritesSince, readLatestOfKey } from '../../services/audit/read-audit-log.ts';
import { listAdministratorNames } from '../../services/directory/administrators.ts';
import { listCompanies, searchCompanies } from '../../services/directory/companies.ts';
import { changeApiKey, findLockout } from '../../services/keys/change-key.ts';
import { readRecentUse, readUsage } from '../../services/keys/key-usage.ts';
import { readWorkflows } from '../../services/keys/key-workflows.ts';
import { getKeyAndDay, getLiveKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { listRefusedRequests } from '../../services/keys/refused-requests.ts';
import { readUsesOfKey } from '../../services/keys/refused-uses.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import {
  afterSearch,
  allowRecentUse,
  chosenSettings,
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
import { type Added, ChangeForm } from './pages/change-key-form.tsx';
import { KeyActions, KeyLead, KeyPage } from './pages/key.tsx';
import { render, renderForm, trail } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';

const LATEST_ENTRIES = 10;
const SHOWN_TEXT = 280;
const JUST_REVOKED_MS = 60_000;
const CHANGE_NOTICES = {
  changed: 'Saved. The change takes effect with the next request.',
  unchanged: 'No changes to save.',
};

/** The page of a key, and the form that changes its settings. */
export const oneKey = new Hono<AdminEnv>();

oneKey.get('/keys/:key', async (c) => {
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

oneKey.get('/keys/:key/change', async (c) => {
  return openChange(c, await getLiveKey(adminContext(c), c.req.param('key')));
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
    searchCompanies(ctx, selectedCompanies(form.values), searchedCompany(form.values)),
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

oneKey.post('/keys/:key/change', async (c) => {
  const ctx = adminContext(c);
  const key = await getLiveKey(ctx, c.req.param('key'));
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
    const current = await getLiveKey(ctx, key.id);
    const form = { values: mergedForm(values, settingsInForm(current)), messages: {} };
    return renderChange(c, { subject: current, revision: current.revision, form, isConflict: true });
  }
});
