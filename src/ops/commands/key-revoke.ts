import { Command } from '@commander-js/extra-typings';
import { type AnyKey, findKeysAnywhere, getKeyAnywhere, liveRelativesOf } from '../../services/keys/read-keys.ts';
import { revokeAsOperator } from '../../services/keys/revoke-key.ts';
import { byOption, type Database, databaseCommand } from '../command.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { readSecret } from '../input.ts';
import { printable } from '../printable.ts';

export const keyRevoke = databaseCommand(
  new Command('key:revoke')
    .summary('revoke a key')
    .description('Revokes a key. Reads its hint or value from standard input, unless --key names it.')
    .addOption(byOption)
    .option('--organization <ORGANIZATION>', 'The id of the organization of the key.')
    .option('--key <ID>', 'The id of the key.'),
  async (withDatabase, { organization, key: id, by }) => {
    if (id !== undefined && organization === undefined)
      throw new UsageError('Add --organization ORGANIZATION: which organization the key belongs to.');
    const pasted = id === undefined ? await readSecret('The key, or its hint (not shown): ') : '';

    await withDatabase(async ({ context }) => {
      const key =
        id === undefined || organization === undefined
          ? await identify(context, pasted, organization)
          : await getKeyAnywhere(context(), { organization, key: id });
      const request = { organization: key.organizationId, key: key.id, by };
      const { status, revokedAt } = await revokeAsOperator(context(), request);
      const at = new Date(revokedAt).toISOString();
      console.log(
        status === 'revoked'
          ? `Revoked at ${at}: ${describeKey(key)}.\nFrom now on every request with it gets 401. What it wrote before stays.`
          : `Already revoked, at ${at}: ${describeKey(key)}. Nothing was changed.`,
      );
      for (const { hint, id, how } of await liveRelativesOf(context(), key))
        console.log(`${hint}, key ${id}, which ${how}, still works.`);
    });
  },
);

/** @throws CommandFailure unless the pasted text names one key */
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
    throw new CommandFailure(`${where} has no such key. Another environment has its keys in its own database.`);
  }
  if (others.length === 0) return key;
  const lines = meant.map(
    (each) => `\n  --organization ${each.organizationId} --key ${each.id}: ${describeKey(each)}, ${each.state}`,
  );
  throw new CommandFailure(
    `${meant.length} keys are named by this text; nothing was revoked. Say which one:${lines.join('')}`,
  );
}

function describeKey({ name, hint, id, organizationId }: AnyKey): string {
  return printable(`"${name}" (${hint}), key ${id}, of organization ${organizationId}`);
}
