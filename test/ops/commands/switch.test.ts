import { expect, test } from 'vitest';
import { generateKey, keyHint } from '../../../src/domain/api-key.ts';
import { writeDeployments } from '../../support/deployments.ts';
import { fakeDeployment } from '../../support/fake-cloudflare.ts';
import { runCli } from '../../support/run-cli.ts';

const MAIN = 'ticket-write-back-api';
const AGENTS = 'ticket-write-back-api-agents';
const KEY_ID = '01a2b3c4-0000-7000-8000-000000000001';

/** Cloudflare with the Workers and two keys, and what runs the command there. */
async function deploy(workers = [MAIN, AGENTS]) {
  const fake = await fakeDeployment(Object.fromEntries(workers.map((name) => [name, {}])));
  fake.sql.exec('create table api_keys (id, hint)');
  fake.sql.exec(`insert into api_keys values ('${KEY_ID}', 'twb_Ab12…x9Yz'), (2, 'twb_Cd34…w8Xy')`);
  const env = { ...fake.env, ...(await writeDeployments({ production: {} })) };
  const run = (args: string[], input: string[] = []) => runCli('switch', args, { env, input });
  const secrets = () => Object.fromEntries(Array.from(fake.state.scripts, ([name, worker]) => [name, worker.secrets]));
  return { fake, run, secrets };
}

test('a switch changes the main Worker, and not that for AI agents, which has no settings', async () => {
  const { run, secrets } = await deploy();
  expect(await run(['MODE', 'paused'])).toEqual({ code: 0, stdout: `MODE is set on ${MAIN}.\n`, stderr: '' });
  const entries = ['twb_Ab12…x9Yz', 'twb_Cd34...w8Xy'];
  const { code, stdout } = await run(['BLOCKED_KEYS', ...entries]);
  expect([code, stdout]).toEqual([0, `BLOCKED_KEYS is set on ${MAIN}.\n`]);
  expect(secrets()).toEqual({ [MAIN]: { MODE: 'paused', BLOCKED_KEYS: entries.join(' ') }, [AGENTS]: {} });
});

test('an error shows the Worker that could not be changed', async () => {
  const { fake, run } = await deploy();
  fake.fail(/^PUT .*-api\/secrets$/, '403');
  const { code, stdout, stderr } = await run(['MODE', 'open']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(new RegExp(`PUT /workers/scripts/${MAIN}/secrets with 403: .* lacks Workers Scripts: Edit`));
});

test('a wrong value is refused, because it would stop the Worker', async () => {
  const { run, secrets } = await deploy();
  for (const [args, says] of [
    [['MODE', 'off'], 'MODE: its value is not a mode; write open or paused.'],
    [['BLOCKED_KEYS', 'twb_Ab12'], 'BLOCKED_KEYS: entry 1 of 1 is neither a key id nor a hint'],
    [['BLOCKED_KEYS'], 'Write the value of BLOCKED_KEYS.'],
    [['MODE', 'open', '--key-stdin'], '--key-stdin is for BLOCKED_KEYS.'],
  ] as const) {
    const { code, stderr } = await run([...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  }
  expect(secrets()).toEqual({ [MAIN]: {}, [AGENTS]: {} });
});

test('a key on standard input is blocked by its hint, together with the other entries', async () => {
  const { fake, run, secrets } = await deploy([MAIN]);
  const key = generateKey('twb');
  fake.sql.prepare('insert into api_keys values (3, ?)').run(keyHint(key));
  const { code, stdout, stderr } = await run(['BLOCKED_KEYS', KEY_ID, '--key-stdin'], [`${key}\n`]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toContain('not compared');
  expect(secrets()[MAIN]).toEqual({ BLOCKED_KEYS: `${KEY_ID} ${keyHint(key)}` });
});

test('a key that the database does not know is refused', async () => {
  const { run, secrets } = await deploy();
  // The last characters of the value instead of those before the checksum.
  const { code, stderr } = await run(['BLOCKED_KEYS', 'twb_Ab12…x9Yz', 'twb_Ab12…rong']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('The database has no key twb_Ab12…rong. Nothing was')]);
  expect(secrets()).toEqual({ [MAIN]: {}, [AGENTS]: {} });
});

test('while the database does not respond, a key is blocked and the message says that it was not compared', async () => {
  const { fake, run, secrets } = await deploy([MAIN]);
  fake.fail(/\/query$/, '500', 9);
  const { code, stdout } = await run(['BLOCKED_KEYS', 'twb_Ab12…rong']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('The keys were not compared with the database: D1 ')]);
  expect(secrets()).toEqual({ [MAIN]: { BLOCKED_KEYS: 'twb_Ab12…rong' } });
});
