import type * as z from 'zod/mini';
import { changeRules, type ExpiryRulesRow, findKeyRules } from '../../db/keys/key-rules-statements.ts';
import { errorOf, invalidInput } from '../../domain/errors.ts';
import { brokenRule, type KeyRules, keyRules, type NewKeyLifetime } from '../../domain/key-rules.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { AdminContext } from '../service-context.ts';

export type StoredKeyRules = Awaited<ReturnType<typeof getKeyRules>>;

/** @throws ServiceError `not_administrator` */
export async function getKeyRules(ctx: AdminContext) {
  const [row] = await query(ctx, 'nothing_written', (db) => findKeyRules(db, ctx.actor));
  if (!row) throw errorOf('not_administrator');
  return { ...row, expiryRequired: row.expiryRequired === 1 };
}

/** @throws ServiceError `invalid` if the key rules, as an insert found them, do not admit a new key */
export function requireAdmittedByRow({ maxLifetimeDays, expiryRequired }: ExpiryRulesRow, key: NewKeyLifetime) {
  const error = brokenRule({ maxLifetimeDays, expiryRequired: expiryRequired === 1 }, key);
  if (error) throw invalidInput([error]);
}

const describeDays = (days: number | null) => (days === null ? 'none' : `${days} ${days === 1 ? 'day' : 'days'}`);
const yesOrNo = (flag: boolean) => (flag ? 'yes' : 'no');

function describeChange(from: KeyRules, to: KeyRules): string[] {
  return (
    [
      ['longest lifetime', describeDays(from.maxLifetimeDays), describeDays(to.maxLifetimeDays)],
      ['expiration required', yesOrNo(from.expiryRequired), yesOrNo(to.expiryRequired)],
      ['marked from', `${from.longMinutes} minutes`, `${to.longMinutes} minutes`],
    ] as const
  ).flatMap(([what, old, changed]) => (old === changed ? [] : [`${what} ${old} to ${changed}`]));
}

/**
 * Changes the key rules of the organization. Existing keys keep their expiration. `oldRevision` is that of the key rules
 * that the administrator saw: a change that another administrator has made since then is not overwritten.
 * @throws ServiceError `invalid`, `key_rules_changed_meanwhile`, `not_administrator`
 */
export async function changeKeyRules(
  ctx: AdminContext,
  oldRevision: number,
  input: z.input<typeof keyRules>,
): Promise<'changed' | 'unchanged'> {
  const from = await getKeyRules(ctx);
  const to = parseInput(keyRules, input);
  if (from.revision !== oldRevision) throw errorOf('key_rules_changed_meanwhile');
  const details = describeChange(from, to);
  if (details.length === 0) return 'unchanged';

  const values = { ...ctx.actor, ...to, expiryRequired: to.expiryRequired ? 1 : 0, oldRevision };
  const [result] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db) => [
    {
      statement: changeRules(db, values),
      action: 'key_rules.changed',
      targetId: ctx.actor.organizationId,
      detail: details.join(', '),
    },
  ]);
  if (hasChanged(result)) return 'changed';

  const rules = await getKeyRules(ctx);
  // All equal: the change was committed but the acknowledgement was lost, or another administrator
  // made the same change.
  if (describeChange(rules, to).length === 0) return 'changed';
  throw errorOf('key_rules_changed_meanwhile');
}
