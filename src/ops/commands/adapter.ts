import { Argument, Command } from '@commander-js/extra-typings';
import { PsaFault } from '../../adapters/kit/psa.ts';
import { sender } from '../../adapters/kit/send.ts';
import { COMMON_VARIABLES } from '../../adapters/kit/settings.ts';
import { organizationRange } from '../../db/fact-statements.ts';
import { findConnections, forgetConnection } from '../../db/work/connections.ts';
import { instant } from '../../domain/change.ts';
import { query } from '../../services/call-d1.ts';
import { adapterNamed, adapterVariables, adapterWorkerOf, definitionOf } from '../adapters.ts';
import { cloudflareApi, putSecret } from '../cloudflare-api.ts';
import { type DatabaseOf, databaseCommand, deploymentOption, remoteOption, type WithDatabase } from '../command.ts';
import { CONNECTED, connectionState } from '../connection-state.ts';
import { readDeployment } from '../deploy/deployment-file.ts';
import { CommandFailure } from '../failures.ts';
import { print } from '../output.ts';
import { printable } from '../printable.ts';

const nameArgument = () =>
  new Argument('[ADAPTER]', 'The name of the adapter in the file of the deployment. Default: the only one.');

export const adapterDoctor = (databaseOf: DatabaseOf) =>
  new Command('adapter:doctor')
    .summary('check the keys, rights and settings of an adapter')
    .description(
      'Checks an adapter with the settings of its deployment, from this machine: whether the keys work, and what the account may read. It only reads. The secrets are in the environment, under their names. Whether notes are private and time is right is tested by the adapter itself, on its test ticket: with --remote, the command also shows what is wrong with that.',
    )
    .addArgument(nameArgument())
    .addOption(deploymentOption)
    .addOption(remoteOption)
    .action(async (given, { deployment: of, remote }) => {
      const deployment = await readDeployment(of);
      const [name, adapter] = adapterNamed(deployment, given);
      const env: Record<string, string | undefined> = {
        ...process.env,
        ...(await adapterVariables(deployment, name)),
      };
      const definition = await definitionOf(adapter);
      const unset = Object.keys(definition.secrets.shape).filter((secret) => !env[secret]);
      if (unset.length > 0) throw new CommandFailure(`Set ${unset.join(' and ')} in the environment.`);
      const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
      try {
        const psa = definition.psa(env, COMMON_VARIABLES.parse(env));
        for await (const line of psa.checks(sender(psa, { now: Date.now, sleep, fetch })))
          await print(`ok    ${printable(line)}\n`);
      } catch (err) {
        if (!(err instanceof Error)) throw err;
        const advice =
          err instanceof PsaFault && err.outcome === 'denied' ? '. Check the keys and the rights of the account.' : '';
        throw new CommandFailure(`The check after these failed: ${err.message}${advice}`);
      }
      if (remote) await checkReport(databaseOf({ remote, deployment: of }), adapter.organization);
    });

/** Shows what the adapter of an organization reported last. @throws CommandFailure if it is not connected */
async function checkReport(withDatabase: WithDatabase, organization: string): Promise<void> {
  const [row] = await withDatabase(({ context }) =>
    query(context(), 'nothing_written', (db) => findConnections(db, organizationRange(organization))),
  );
  if (!row) throw new CommandFailure(`No adapter has reported for ${printable(organization)}.`);
  const state = connectionState(row, Date.now());
  const failure = row.failure === null ? '.' : `: ${printable(row.failure)}`;
  if (state !== CONNECTED) throw new CommandFailure(`The adapter is ${state}${failure}`);
  await print('ok    the adapter is connected, as it reported last\n');
}

export const adapterStatus = databaseCommand(
  new Command('adapter:status')
    .summary('show whether the adapters reach their PSAs')
    .description(
      'Shows what each adapter reported last: every minute, and when its state changes. Nothing is written.',
    ),
  async (withDatabase) => {
    const rows = await withDatabase(({ context }) =>
      query(context(), 'nothing_written', (db) => findConnections(db, organizationRange())),
    );
    if (rows.length === 0) return print('No adapter has reported.\n');
    for (const row of rows) {
      const { organizationId, adapterId, reportedAt, failure } = row;
      const state = connectionState(row, Date.now());
      await print(`${printable(organizationId)}: ${state}; last report ${instant(reportedAt)} of ${adapterId}\n`);
      if (failure !== null) await print(`  ${printable(failure)}\n`);
    }
  },
);

export const adapterForget = databaseCommand(
  new Command('adapter:forget')
    .summary('end the fact and the alert of a removed adapter')
    .description(
      'Deletes what an adapter reported last, so that nothing shows it as silent. Delete its Worker first: otherwise it reports again within a minute.',
    )
    .requiredOption('--organization <ORGANIZATION>', 'The id of the organization.'),
  async (withDatabase, { organization: organizationId }) => {
    const deleted = await withDatabase(({ context }) =>
      query(context(), 'safe_to_repeat', (db) => forgetConnection(db, organizationId)),
    );
    if (deleted.meta.changes === 0)
      throw new CommandFailure(`No adapter has reported for ${printable(organizationId)}.`);
    await print(`The adapter of ${printable(organizationId)} is forgotten.\n`);
  },
);

export const adapterResume = new Command('adapter:resume')
  .summary('resume a stopped or paused adapter')
  .description(
    'Sets the secret RESUME of the Worker of the adapter, which deploys the Worker again. It repeats its connection test, and then writes what waits and what the PSA refused in at least the last 30 days. If another adapter is connected with the organization, this one takes its place. Needs CLOUDFLARE_API_TOKEN.',
  )
  .addArgument(nameArgument())
  .addOption(deploymentOption)
  .action(async (given, { deployment: of }) => {
    const deployment = await readDeployment(of);
    const worker = adapterWorkerOf(deployment, adapterNamed(deployment, given)[0]);
    await putSecret(cloudflareApi(deployment.account), worker, 'RESUME', new Date().toISOString());
    await print(`${worker} resumes within a minute. See adapter:status.\n`);
  });
