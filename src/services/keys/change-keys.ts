import * as z from 'zod';
import { extendKey } from '../../db/keys/key-statements.ts';
import { isLive } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import { invalidInput } from '../../domain/errors.ts';
import { lazyObject, ruleError } from '../../domain/fields.ts';
import { brokenRule, lifetimeDays } from '../../domain/key-rules.ts';
import { describeChanges, KEY_SETTING_NAMES, type KeySettings, settingInputs } from '../../domain/key-settings.ts';
import { MAX_NETWORKS } from '../../domain/networks.ts';
import { pick } from '../../lib/objects.ts';
import { type AuditedChange, byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { changeConfirmed } from '../confirmed-set.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { planChange } from './change-key.ts';
import { getKeyRules } from './change-key-rules.ts';
import { readLifetime } from './create-key.ts';
import { type KeyDetails, listKeysById } from './read-keys.ts';

/** What can be changed of several keys at once: their owner, another allowed network, or a later expiry. */
export type SharedChange = 'owner' | 'allowedNetworks' | 'expires';

/** What became of a key: the old and the new value, or why it was not changed. */
export interface KeyOutcome {
  key: KeyDetails;
  result: 'changed' | 'left_alone' | 'conflict' | 'failed';
  why: string | undefined;
}

/** A change of one key, and whether a key has it already. */
interface Plan {
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

const CONFLICT = 'Another administrator changed the key or the key rules meanwhile.';

/** Why a key is left alone, whatever the new value is. */
export function whyLeftAlone({ state, allowedNetworks, expiresAt, successor }: KeyDetails, what: SharedChange) {
  if (!isLive(state)) return 'It no longer works.';
  if (what === 'allowedNetworks' && allowedNetworks === '') return 'It is allowed from everywhere.';
  if (what === 'expires' && expiresAt === null) return 'It never expires.';
  if (what === 'expires' && successor !== null) return 'It was replaced.';
  return undefined;
}

/**
 * Makes the same change to several keys of the organization, in transactions of a hundred. `shown` has the revision of
 * each key as the administrator saw it: a key that was changed since then is not changed. Keys that do not exist are
 * left out. `cause` is the error after which keys `failed`; the error of the first transaction is thrown.
 * @throws ServiceError `invalid`, `not_administrator`
 */
export async function changeSelectedKeys(
  ctx: ActorContext<AdminActor>,
  shown: ReadonlyMap<string, number>,
  what: SharedChange,
  value: string,
): Promise<{ outcomes: KeyOutcome[]; cause?: unknown }> {
  const planner = await PLANNERS[what](ctx, value);
  const keys = await listKeysById(ctx, [...shown.keys()]);
  const plans = new Map<string, Plan>();
  const planned = await Promise.all(
    keys.map(async (key): Promise<KeyOutcome> => {
      if (key.revision !== shown.get(key.id)) return { key, result: 'conflict', why: CONFLICT };
      const plan = whyLeftAlone(key, what) ?? (await planner(key));
      if (typeof plan === 'string') return { key, result: 'left_alone', why: plan };
      plans.set(key.id, plan);
      return { key, result: 'changed', why: plan.changeAt(ctx.now()).detail };
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

const PLANNERS: Record<SharedChange, (ctx: ActorContext<AdminActor>, value: string) => Promise<Planner>> = {
  async owner(ctx, value) {
    const change = parseInput(inputs.owner, { owner: value });
    return (key) => planSettings(ctx, key, change);
  },

  async allowedNetworks(ctx, value) {
    const added = parseInput(inputs.networks, { allowedNetworks: value }).allowedNetworks;
    return async (key) => {
      const all = settingInputs.allowedNetworks.safeParse(`${key.allowedNetworks} ${added}`);
      if (!all.success) return `It has ${MAX_NETWORKS} allowed networks, which is the limit.`;
      return planSettings(ctx, key, { allowedNetworks: all.data });
    };
  },

  async expires(ctx, value) {
    const { expires } = parseInput(inputs.expires, { expires: value });
    const { expiresAt, error } = await readLifetime(ctx, expires);
    if (error || expiresAt === null) throw invalidInput(error ? [error] : []);
    const { timeZone, ...rules } = await getKeyRules(ctx);
    return async (key) => {
      const days = lifetimeDays(expiresAt, timeZone, key.createdAt);
      if ((key.expiresAt ?? expiresAt) >= expiresAt) return 'It does not expire earlier.';
      // Counted from the creation of the key: no key lives longer than the key rules allow.
      if (brokenRule(rules, { expires: value, days, today: dateIn(timeZone, key.createdAt) }))
        return `The key rules allow ${rules.maxLifetimeDays} days from its creation. Rotate it instead.`;
      const values = { ...ctx.actor, keyId: key.id, revision: key.revision, expiresAt, lifetimeDays: days };
      const from = dateIn(timeZone, (key.expiresAt ?? expiresAt) - 1);
      return {
        isMade: (current) => current.expiresAt === expiresAt,
        changeAt: (now) => ({
          statement: extendKey.bind({ ...values, now }),
          action: 'api_key.changed',
          targetId: key.id,
          detail: `expires ${from} to ${dateIn(timeZone, expiresAt - 1)}`,
        }),
      };
    };
  },
};

async function planSettings(
  ctx: ActorContext<AdminActor>,
  key: KeyDetails,
  change: Partial<KeySettings>,
): Promise<Plan | string> {
  const settings = { ...pick(key, KEY_SETTING_NAMES), ...change };
  if (describeChanges(key, settings).length === 0) return 'It is already so.';
  return {
    isMade: (current) => describeChanges(current, { ...pick(current, KEY_SETTING_NAMES), ...change }).length === 0,
    changeAt: await planChange(ctx, key, settings),
  };
}
