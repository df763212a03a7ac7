import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import { startFake } from '../../test/adapters/serve-fake.ts';
import { COMMON_VARIABLES } from '../adapters/kit/settings.ts';
import { definitionOf, faultsOf } from '../ops/adapters.ts';
import { writeConfigs } from '../ops/deploy/render-configs.ts';
import { CommandFailure } from '../ops/failures.ts';

const DEFAULTS = { TIME_ZONE: 'UTC', DEFAULT_HOURLY_RATE: '120', ADMINISTRATOR: 'ada@northwind.example' };

/**
 * What `npm start` needs for an adapter. If none of its variables is given, the PSA is the fake of the tests.
 * @throws CommandFailure
 */
export async function adapterDemo(psa: string, given: Record<string, string>, port: number) {
  const definition = await definitionOf({ psa });
  const shape = z.object({
    ...COMMON_VARIABLES.shape,
    ...definition.variables.shape,
    ...definition.secrets.shape,
    ADMINISTRATOR: z.email(),
  });
  const fake = Object.keys(given).some((name) => name in shape.shape) ? undefined : await startFake(psa);
  const common = { ADAPTER: psa, ORGANIZATION: psa, ORGANIZATION_NAME: `Demo of ${psa}`, ...DEFAULTS };
  const vars = { ...common, TEST_TICKET: '', ...fake?.env, ...given };
  const { error } = shape.safeParse(vars);
  if (error)
    throw new CommandFailure(`The variables of the adapter ${psa} are wrong: ${faultsOf(error, definition, vars)}`);

  const { path: _, ...main } = writeConfigs().main;
  const bindings = [...main.durable_objects.bindings, { name: 'ADAPTER_OBJECT', class_name: 'Adapter' }];
  const props = { organization: vars.ORGANIZATION, administrators: [vars.ADMINISTRATOR.toLowerCase()] };
  const config = {
    ...{ ...main, vars, main: resolve('src/dev/adapter.ts'), durable_objects: { bindings } },
    migrations: [{ tag: 'local', new_sqlite_classes: bindings.map(({ class_name }) => class_name) }],
    services: [{ binding: 'CONNECTION', service: main.name, entrypoint: 'Connection', props }],
  };
  // Wrangler watches it: another server has another one.
  const path = `build/local/adapter-${port}.json`;
  writeFileSync(path, JSON.stringify(config));
  // The adapter replaces this user by those of the PSA.
  const [userId, name, email] = fake
    ? ['1', 'Ada Admin', vars.ADMINISTRATOR]
    : ['npm-start', 'npm start', 'npm-start@northwind.example'];
  const actor = { organizationId: vars.ORGANIZATION, userId };
  const organization = { type: 'organization', id: vars.ORGANIZATION, name: vars.ORGANIZATION_NAME, psa: true };
  const rate = { timeZone: vars.TIME_ZONE, defaultHourlyRate: Number(vars.DEFAULT_HOURLY_RATE) };
  const user = { type: 'user', organization: vars.ORGANIZATION, id: userId, name, email, admin: true };
  const records = [{ ...organization, ...rate }, user];
  const directory = records.map((record) => JSON.stringify(record)).join('\n');
  return { path, actor, directory, ticketId: vars.TEST_TICKET, fake, known: Object.keys(shape.shape) };
}
