import { Argument, Command } from '@commander-js/extra-typings';
import { parseMode } from '../../config.ts';
import { findUnknownKeys } from '../../db/keys/read-keys-statements.ts';
import { keyHint } from '../../domain/api-key.ts';
import { type BlockedKeys, parseBlockedKeys } from '../../domain/blocked-keys.ts';
import { ServiceError } from '../../domain/errors.ts';
import { D1Failure, query } from '../../services/call-d1.ts';
import { cloudflareApi, putSecret } from '../cloudflare-api.ts';
import { deploymentOption, parseOption } from '../command.ts';
import { configOf, readDeployment, workerOf } from '../deploy/deployment-file.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { readKeyValue } from '../input.ts';
import { print } from '../output.ts';
import { RemoteD1 } from '../remote-d1.ts';

/** BLOCKED_KEYS is for a database that does not respond: do not wait long for it. */
const DATABASE_DEADLINE_MS = 10_000;

export const switchCommand = new Command('switch')
  .summary('pause the API or block keys')
  .description(
    'Sets MODE or BLOCKED_KEYS on the deployed Worker. The value is the whole list of blocked keys; a comma empties it. A key that the database does not know is refused; if the database cannot be read, it is blocked unchecked. Needs CLOUDFLARE_API_TOKEN.',
  )
  .addArgument(new Argument('<NAME>', 'Which secret to set.').choices(['MODE', 'BLOCKED_KEYS']))
  .argument('[VALUE...]', 'MODE: open or paused. BLOCKED_KEYS: hints or ids of keys.')
  .option('--key-stdin', 'BLOCKED_KEYS: also block the key on standard input, by its hint.')
  .addOption(deploymentOption)
  .action(async (name, values, options) => {
    const deployment = await readDeployment(options.deployment);
    if (options.keyStdin && name !== 'BLOCKED_KEYS') throw new UsageError('--key-stdin is for BLOCKED_KEYS.');
    const entries = options.keyStdin ? [...values, keyHint(await readKeyValue())] : values;
    if (entries.length === 0) throw new UsageError(`Write the value of ${name}.`);
    const value = entries.join(' ');
    let blocked: BlockedKeys = new Set();
    parseOption(name, () => {
      if (name === 'MODE') parseMode(value);
      else blocked = parseBlockedKeys(value, configOf(deployment).keyPrefix);
    });
    const api = cloudflareApi(deployment.account);
    if (blocked.size > 0) await requireKnown(blocked, new RemoteD1(api, deployment.database));
    const worker = workerOf(deployment);
    await putSecret(api, worker, name, value);
    await print(`${name} is set on ${worker}.\n`);
  });

/** @throws CommandFailure if the database can be read and does not have one of the keys */
async function requireKnown(keys: BlockedKeys, db: RemoteD1): Promise<void> {
  const ctx = { db, deadlineAt: Date.now() + DATABASE_DEADLINE_MS };
  const unknown = await query(ctx, 'nothing_written', (d1) => findUnknownKeys(d1, [...keys])).catch(
    async (err: unknown) => {
      const failure = err instanceof ServiceError ? err.cause : err;
      if (!(failure instanceof D1Failure)) throw err;
      await print(`The keys were not compared with the database: ${failure.message}\n`);
      return [];
    },
  );
  if (unknown.length === 0) return;
  const names = unknown.map(({ key }) => key).join(', ');
  throw new CommandFailure(
    `The database has no key ${names}. Nothing was changed. Copy the hint from the settings area, or compute it from the value with --key-stdin.`,
  );
}
