import { ServiceError } from '../../domain/errors.ts';
import { type AnyKey, findKeysAnywhere, getKeyAnywhere, liveRelativesOf } from '../../services/keys/read-keys.ts';
import { revokeAsOperator } from '../../services/keys/revoke-key.ts';
import { listChanges } from '../../services/work/list-changes.ts';
import { byOption, type Database, databaseCommand, onCode } from '../command.ts';
import { readExportedChanges } from '../exported-changes.ts';
import { UsageError } from '../failures.ts';
import { readSecret } from '../input.ts';
import { count } from '../output.ts';
import { printable } from '../printable.ts';

export const keyRevoke = databaseCommand(
  {
    name: 'key:revoke',
    summary: 'revoke one key, or all that an export shows as revoked',
    purpose:
      'Revokes a key. Reads its hint or value from standard input, unless --key names it. With --from, revokes every key that an export of changes:export shows as revoked and that is not revoked in the database; use it after a restore.',
    example: 'key:revoke --by "Ada, by phone"',
    failure:
      'failure: no such key, several keys with the hint, a wrong file, or the database failed; a second call does no harm',
  },
  (command) =>
    command
      .addOption(byOption)
      .option('--organization <ORGANIZATION>', 'The id of the organization of the key.')
      .option('--key <ID>', 'The id of the key.')
      .option('--from <FILE>', 'A file that changes:export wrote for the organization.'),
  async (withDatabase, options) => {
    const { organization, key: id, from, by } = options;
    if (from !== undefined) {
      if (organization === undefined || id !== undefined)
        throw new UsageError('With --from, name the organization with --organization, and no --key.');
      const revoked = new Map<string, string>();
      // Each change has its key as it was when the change was exported: any line can show that it is revoked.
      for await (const { key } of readExportedChanges(from, 'Nothing was revoked'))
        if (key && key.revokedAt !== null) revoked.set(key.id, key.hint);
      return withDatabase(({ context }) => revokeAll(context, organization, revoked, by));
    }
    if (id !== undefined && organization === undefined)
      throw new UsageError('Add --organization ORGANIZATION: which organization the key belongs to.');
    const pasted = id === undefined ? await readSecret('The key, or its hint (not shown): ') : '';

    await withDatabase(async ({ context }) => {
      const key =
        id === undefined || organization === undefined
          ? await identify(context, pasted, organization)
          : await getKeyAnywhere(context(), { organization, key: id });
      await revoke(context, key, by);
      for (const { hint, id, how } of await liveRelativesOf(context(), key))
        console.log(`${hint}, key ${id}, which ${how}, still works.`);
    });
  },
);

/** Revokes one key, and prints the result. */
async function revoke(context: Database['context'], key: AnyKey, by: string): Promise<void> {
  const request = { organization: key.organizationId, key: key.id, by };
  const { status, revokedAt } = await revokeAsOperator(context(), request);
  const at = new Date(revokedAt).toISOString();
  console.log(
    status === 'revoked'
      ? `Revoked at ${at}: ${describeKey(key)}.\nFrom now on every request with it gets 401. What it wrote before stays.`
      : `Already revoked, at ${at}: ${describeKey(key)}. Nothing was changed.`,
  );
}

/** Prints a line for each of the keys, whose hints these are by id, and a total. */
async function revokeAll(
  context: Database['context'],
  organization: string,
  hints: ReadonlyMap<string, string>,
  by: string,
): Promise<void> {
  // Otherwise every key of a misspelled organization would be reported as missing.
  await listChanges(context(), { organization, cursor: null, limit: 1 });
  let [revoked, unchanged, missing] = [0, 0, 0];
  for (const [id, hint] of hints) {
    const found = getKeyAnywhere(context(), { organization, key: id });
    const key = await found.catch(onCode('key_not_found', () => undefined));
    if (!key) {
      missing += 1;
      console.log(printable(`Missing: ${hint}, key ${id}. The database does not have it, so it gets 401.`));
    } else if (key.state === 'revoked') {
      unchanged += 1;
      console.log(`Already revoked: ${describeKey(key)}.`);
    } else {
      await revokeAsOperator(context(), { organization, key: id, by });
      revoked += 1;
      console.log(`Revoked: ${describeKey(key)}.`);
    }
  }
  console.log(
    `${count(hints.size, 'revoked key')} in the file: ${revoked} revoked now, ${unchanged} already revoked, ${missing} missing.`,
  );
}

/** @throws ServiceError unless the pasted text names one key */
async function identify(
  context: Database['context'],
  pasted: string,
  organization: string | undefined,
): Promise<AnyKey> {
  const found = await findKeysAnywhere(context(), pasted);
  const meant = found.filter(({ organizationId }) => organization === undefined || organizationId === organization);
  const [key, ...others] = meant;
  if (!key) {
    const where = organization === undefined ? 'This database' : `Organization ${organization}`;
    throw new ServiceError(
      'key_not_found',
      `${where} has no such key. Another environment has its keys in its own database.`,
    );
  }
  if (others.length === 0) return key;
  const lines = meant.map(
    (each) => `\n  --organization ${each.organizationId} --key ${each.id}: ${describeKey(each)}, ${each.state}`,
  );
  throw new ServiceError(
    'key_not_found',
    `${meant.length} keys have this hint; nothing was revoked. Say which one:${lines.join('')}`,
  );
}

function describeKey({ name, hint, id, organizationId }: AnyKey): string {
  return printable(`"${name}" (${hint}), key ${id}, of organization ${organizationId}`);
}
