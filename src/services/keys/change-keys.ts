import * as z from 'zod';
import { extendKey } from '../../db/keys/key-statements.ts';
import { isLive } from '../../domain/api-key.ts';
import { dateIn, dateText } from '../../domain/calendar.ts';
import { invalidInput } from '../../domain/errors.ts';
import { lazyObject, ruleError } from '../../domain/fields.ts';
import { lastDayAllowed, lifetimeDays } from '../../domain/key-rules.ts';
import { describeChanges, KEY_SETTING_NAMES, type KeySettings, settingInputs } from '../../domain/key-settings.ts';
import { MAX_NETWORKS } from '../../domain/networks.ts';
import { pick } from '../../lib/objects.ts';
import { type AuditedChange, byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { changeConfirmed } from '../confirmed-set.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import type { AdminContext } from '../service-context.ts';
import { planChange } from './change-key.ts';
import { getKeyRules, type StoredKeyRules } from './change-key-rules.ts';
import { readLifetime } from './create-key.ts';
import { type KeyDetails, listKeysById } from './read-keys.ts';

/** What can be changed of several keys at once: their owner, another allowed network, or a later expiry. */
export type SharedChange = 'owner' | 'allowedNetworks' | 'expires';

/** What became of a key, in sentences: the new value and usually the old one, or why it was not changed. */
export interface KeyOutcome {
  key: KeyDetails;
  result: 'changed' | 'left_alone' | 'conflict' | 'failed';
  why: string | undefined;
}

/** A change of one key, what it does in a sentence, and whether a key has it already. */
interface Plan {
  says: string;
  changeAt: (now: number) => AuditedChange<never>;
  isMade: (key: KeyDetails) => boolean;
}

/** The change of a key, or why the key is left alone. */
type Planner = (key: KeyDetails) => Promise<Plan | string>;

const { owner, allowedNetworks } = settingInputs;
const inputs = {
  expires: lazyObject(() => ({ expires: z.iso.date({ error: ruleError('a date such as 2027-03-31') }) })),
  owner: lazyObject(() => ({ owner })),
  networks: lazyObject(() => ({
    // Of all lists, only the empty one would allow every IP address.
    allowedNetworks: allowedNetworks.refine((networks) => networks !== '', { error: 'is empty; enter an address' }),
  })),
};

const CONFLICT = 'The key or the key rules were changed meanwhile.';

/** The last day that the key rules allow a key; null for any. Counted from its creation: a later expiry is no new key. */
const lastDayOf = ({ createdAt }: KeyDetails, rules: StoredKeyRules) =>
  lastDayAllowed(rules, dateIn(rules.timeZone, createdAt));

/** Why a key is left alone, whatever the new value is: what it or several of them are, to follow "is" or "are". */
function whyLeftAlone(key: KeyDetails, what: SharedChange, rules: StoredKeyRules): string | undefined {
  const { state, allowedNetworks, expiresAt, successor } = key;
  if (!isLive(state)) return 'no longer in use';
  if (what === 'allowedNetworks' && allowedNetworks === '')
    return 'allowed from everywhere, so there is no list to add an address to';
  if (what !== 'expires') return undefined;
  if (expiresAt === null) return 'set to never expire';
  if (successor !== null) return 'replaced by a newer key';
  const lastDay = lastDayOf(key, rules);
  if (lastDay === null || dateIn(rules.timeZone, expiresAt - 1) < lastDay) return undefined;
  return `limited by the key rules to ${rules.maxLifetimeDays} days from creation; rotate instead`;
}

/** What becomes of the own value of a key that gets another one. */
function effectOn(key: KeyDetails, what: SharedChange, rules: StoredKeyRules): string {
  if (what === 'owner') return key.owner === '' ? 'Had no owner' : `Replaces ${key.owner}`;
  const networks = key.allowedNetworks.split(' ').length;
  if (what === 'allowedNetworks') return `In addition to ${networks} ${networks === 1 ? 'network' : 'networks'}`;
  const lastDay = lastDayOf(key, rules);
  const now = `Expires ${dateText(dateIn(rules.timeZone, (key.expiresAt ?? 0) - 1))} now`;
  return lastDay === null ? now : `${now}, at the latest ${dateText(lastDay)}`;
}

/**
 * What a change would do to each key, in words; how many keys it would change, and `reasons` for those that it would
 * not. `max` is the last day that the key rules allow any of them, with `help` about it.
 */
export async function previewChange(ctx: AdminContext, keys: readonly KeyDetails[], what: SharedChange) {
  const rules = await getKeyRules(ctx);
  const groups = Map.groupBy(keys, (key) => whyLeftAlone(key, what, rules));
  const changeable = groups.get(undefined) ?? [];
  const effectOf = (key: KeyDetails) => {
    const why = whyLeftAlone(key, what, rules);
    return why === undefined ? effectOn(key, what, rules) : `Left alone: it is ${why}.`;
  };
  const reasons = [...groups]
    .map(([why, { length }]) => `${length === 1 ? 'This key is' : `These ${length} keys are`} ${why}.`)
    .join(' ');
  const lastDays = what === 'expires' ? changeable.flatMap((key) => lastDayOf(key, rules) ?? []) : [];
  const max = lastDays.sort().at(-1);
  const help =
    max && `At the latest ${dateText(max)}: the key rules allow ${rules.maxLifetimeDays} days from creation.`;
  return { effectOf, changeable: changeable.length, reasons, max, help };
}

/**
 * Makes the same change to several keys of the organization, in transactions of a hundred. `shown` has the revision of
 * each key as the administrator saw it: a key that was changed since then is not changed. Keys that do not exist are
 * left out. `cause` is the error after which keys `failed`; the error of the first transaction is thrown.
 * @throws ServiceError `invalid`, `not_administrator`
 */
export async function changeSelectedKeys(
  ctx: AdminContext,
  shown: ReadonlyMap<string, number>,
  what: SharedChange,
  value: string,
): Promise<{ outcomes: KeyOutcome[]; cause?: unknown }> {
  const rules = await getKeyRules(ctx);
  const planner = await PLANNERS[what](ctx, value, rules);
  const keys = await listKeysById(ctx, [...shown.keys()]);
  const plans = new Map<string, Plan>();
  const planned = await Promise.all(
    keys.map(async (key): Promise<KeyOutcome> => {
      if (key.revision !== shown.get(key.id)) return { key, result: 'conflict', why: CONFLICT };
      const why = whyLeftAlone(key, what, rules);
      const plan = why === undefined ? await planner(key) : `It is ${why}.`;
      if (typeof plan === 'string') return { key, result: 'left_alone', why: plan };
      plans.set(key.id, plan);
      return { key, result: 'changed', why: plan.says };
    }),
  );
  const { done, failed, cause } = await changeConfirmed([...plans.keys()], async (some) => {
    const results = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) =>
      some.flatMap((id) => plans.get(id)?.changeAt(now) ?? []),
    );
    return some.filter((_, index) => hasChanged(results[index]));
  });
  if (done.length === 0) await administratorsTimeZone(ctx);
  const others = [...plans.keys()].filter((id) => !done.includes(id) && !failed.includes(id));
  // Made: the change was committed but the acknowledgement was lost, or another administrator made it.
  const made = (await listKeysById(ctx, others)).filter((key) => plans.get(key.id)?.isMade(key));
  const outcomes = planned.map((outcome): KeyOutcome => {
    const { id } = outcome.key;
    if (failed.includes(id)) return { ...outcome, result: 'failed', why: 'An error ended the request.' };
    if (!others.includes(id) || made.some((key) => key.id === id)) return outcome;
    return { ...outcome, result: 'conflict', why: CONFLICT };
  });
  return { outcomes, cause };
}

type MakePlanner = (ctx: AdminContext, value: string, rules: StoredKeyRules) => Promise<Planner>;

const PLANNERS: Record<SharedChange, MakePlanner> = {
  async owner(ctx, value) {
    const change = parseInput(inputs.owner, { owner: value });
    return (key) => {
      const before = key.owner === '' ? '' : `; it was ${key.owner}`;
      const now = change.owner === '' ? 'It has no owner now' : `Its owner is now ${change.owner}`;
      return planSettings(ctx, key, change, `${now}${before}.`);
    };
  },

  async allowedNetworks(ctx, value) {
    const added = parseInput(inputs.networks, { allowedNetworks: value }).allowedNetworks;
    return async (key) => {
      const all = settingInputs.allowedNetworks.safeParse(`${key.allowedNetworks} ${added}`);
      if (!all.success) return `It has ${MAX_NETWORKS} allowed networks, which is the limit.`;
      return planSettings(ctx, key, { allowedNetworks: all.data }, `Now also allowed: ${added}.`);
    };
  },

  async expires(ctx, value, rules) {
    const { expires } = parseInput(inputs.expires, { expires: value });
    const { expiresAt, error } = await readLifetime(ctx, expires);
    if (error || expiresAt === null) throw invalidInput(error ? [error] : []);
    const { timeZone } = rules;
    return async (key) => {
      const days = lifetimeDays(expiresAt, timeZone, key.createdAt);
      const from = dateIn(timeZone, (key.expiresAt ?? expiresAt) - 1);
      if (from >= expires) return `It already expires ${from > expires ? 'later, ' : ''}on ${dateText(from)}.`;
      const lastDay = lastDayOf(key, rules);
      if (lastDay !== null && expires > lastDay)
        return `The key rules allow it until ${dateText(lastDay)}, ${rules.maxLifetimeDays} days from its creation.`;
      const values = { ...ctx.actor, keyId: key.id, revision: key.revision, expiresAt, lifetimeDays: days };
      return {
        says: `It now expires on ${dateText(expires)}; before, on ${dateText(from)}.`,
        isMade: (current) => current.expiresAt === expiresAt,
        changeAt: (now) => ({
          statement: extendKey.bind({ ...values, now }),
          action: 'api_key.changed',
          targetId: key.id,
          detail: `expires ${from} to ${expires}`,
        }),
      };
    };
  },
};

async function planSettings(
  ctx: AdminContext,
  key: KeyDetails,
  change: Partial<KeySettings>,
  says: string,
): Promise<Plan | string> {
  const settings = { ...pick(key, KEY_SETTING_NAMES), ...change };
  if (describeChanges(key, settings).length === 0) return 'It already has this value.';
  return {
    says,
    isMade: (current) => describeChanges(current, { ...pick(current, KEY_SETTING_NAMES), ...change }).length === 0,
    changeAt: await planChange(ctx, key, settings),
  };
}
