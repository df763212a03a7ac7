import { afterEach, describe, expect, test, vi } from 'vitest';
import { readDeployment, requireDistinctDeployments } from '../../../src/ops/deploy/deployment-file.ts';
import { writeDeployments } from '../../support/deployments.ts';

afterEach(() => vi.unstubAllEnvs());

/** Reads the only deployment, which has these settings in addition to those that are required. */
async function read(settings: object) {
  const { DEPLOYMENTS_DIRECTORY } = await writeDeployments({ eu: settings });
  vi.stubEnv('DEPLOYMENTS_DIRECTORY', DEPLOYMENTS_DIRECTORY);
  return readDeployment();
}

describe('the file of a deployment', () => {
  test.each<[object, string]>([
    [{ acount: 'x' }, 'eu.toml: Unrecognized key: "acount"'],
    [{ account: 'acc' }, 'eu.toml: account: It must be the 32 hexadecimal digits'],
    [{ host: 'tickets.example.org' }, 'eu.toml: host: It must be example.com or a name below it.'],
    [{ account: undefined }, 'eu.toml: account: It is missing.'],
    [{ place: 'mars' }, 'eu.toml: place: Invalid option: expected one of "weur"|'],
    [{ vars: { KEY_LIMT: '1/1s' } }, 'eu.toml: vars.KEY_LIMT: It is not a variable of this service.'],
    [{ vars: { JURISDICTION: 'eu' } }, 'eu.toml: vars.JURISDICTION: Its value follows from place.'],
    [
      { team: 'a', audience: 'b', vars: { ADMIN_ISSUER: 'x' } },
      'eu.toml: vars.ADMIN_ISSUER: Its value follows from team.',
    ],
    [{ vars: { MODE: 'open' } }, 'eu.toml: vars.MODE: It is a secret: npx wrangler secret put MODE --name WORKER'],
    [{ vars: { KEY_LIMIT: 'many' } }, 'eu.toml: KEY_LIMIT: "many" is not a'],
    [{ team: 'northwind' }, 'eu.toml: ADMIN_AUDIENCE is empty'],
  ])('%j is refused', async (settings, message) => {
    await expect(read(settings)).rejects.toThrow(message);
  });

  test('the sign-in of another provider needs no team', async () => {
    const settings = {
      audience: 'a',
      vars: { ADMIN_ISSUER: 'https://idp.example', WEBHOOK_URL: 'https://psa.example' },
    };
    expect(await read(settings)).toMatchObject(settings);
  });
});

test('a name is needed if there are several deployments', async () => {
  vi.stubEnv('DEPLOYMENTS_DIRECTORY', (await writeDeployments({ us: {}, eu: {} })).DEPLOYMENTS_DIRECTORY);
  await expect(readDeployment()).rejects.toThrow('Name the deployment: eu, us.');
  await expect(readDeployment('ca')).rejects.toThrow('There is no deployment ca: eu, us.');
});

test('two deployments share neither key prefix nor name, host and database', async () => {
  const us = {
    host: 'us.example.com',
    name: 'us',
    database: '00000000-0000-4000-8000-000000000005',
    vars: { KEY_PREFIX: 'us' },
  };
  const check = async (changes: object) => {
    const files = await writeDeployments({ eu: {}, us: { ...us, ...changes } });
    vi.stubEnv('DEPLOYMENTS_DIRECTORY', files.DEPLOYMENTS_DIRECTORY);
    await requireDistinctDeployments();
  };
  await check({});
  for (const [change, what] of [
    [{ vars: {} }, 'key prefix, twb'],
    [{ name: 'ticket-write-back' }, 'name, ticket-write-back'],
    [{ host: 'tickets.example.com' }, 'host, tickets.example.com'],
    [{ database: '00000000-0000-4000-8000-0000000000db' }, 'database, 0'],
  ] as const)
    await expect(check(change)).rejects.toThrow(`eu and us have the same ${what}`);
});
