// npm run key:revoke: revokes a key by its hint or its whole value, whichever organization it belongs to.
import { parseArgs } from 'node:util';
import { ServiceError } from '../../domain/errors.ts';
import type { ServiceContext } from '../../services/context.ts';
import { findKeysAnywhere, getKeyAnywhere, type OperatorKey } from '../../services/keys/read-keys.ts';
import { revokeAsOperator } from '../../services/keys/revoke-key.ts';
import { databaseOptions, operatorContext, runCommand, UsageError, withDatabase } from '../command.ts';
import { printable } from '../printable.ts';
import { readSecret, refuseKeysInArguments } from '../secret.ts';

const usage = `npm run key:revoke -- --by NAME [--organization ORGANIZATION [--key ID]] [--remote | --persist-to DIRECTORY]
The hint or the value of the key comes on standard input, unless --key names it.`;

await runCommand(usage, async () => {
  refuseKeysInArguments();
  const { values: options } = parseArgs({
    options: { ...databaseOptions, by: { type: 'string' }, organization: { type: 'string' }, key: { type: 'string' } },
  });
  const { by, organization, key: id } = options;
  if (by === undefined) throw new UsageError('Say with --by who asked for it; it stands in the audit log.');
  if (id !== undefined && organization === undefined) throw new UsageError('Say with --organization whose key it is.');
  const pasted = id === undefined ? await readSecret('The key, or its hint (not shown): ') : '';

  await withDatabase(options, async (db) => {
    const ctx = operatorContext(db);
    const key =
      id === undefined || organization === undefined
        ? await identify(ctx, pasted, organization)
        : await getKeyAnywhere(ctx, { organization, key: id });
    const { status, revokedAt } = await revokeAsOperator(ctx, { organization: key.organizationId, key: key.id, by });
    const at = new Date(revokedAt).toISOString();
    console.log(
      status === 'revoked'
        ? `Revoked at ${at}: ${describe(key)}.\nFrom now on every request with it gets 401. What it wrote before stays.`
        : `Revoked already, at ${at}: ${describe(key)}. Nothing was changed.`,
    );
    for (const { hint, id, how } of key.liveRelatives) console.log(`${hint}, key ${id}, which ${how}, still works.`);
  });
});

/** The one key that a pasted text names, in one organization or in all. @throws ServiceError if there is none, or more than one */
async function identify(ctx: ServiceContext, pasted: string, organization: string | undefined): Promise<OperatorKey> {
  const found = await findKeysAnywhere(ctx, pasted);
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
    (each) => `\n  --organization ${each.organizationId} --key ${each.id}: ${describe(each)}, ${each.state}`,
  );
  throw new ServiceError(
    'key_not_found',
    `${meant.length} keys have this hint; nothing was revoked. Say which one:${lines.join('')}`,
  );
}

function describe({ name, hint, id, organization, organizationId }: OperatorKey): string {
  return printable(`"${name}" (${hint}), key ${id}, of ${organizationId} (${organization})`);
}
