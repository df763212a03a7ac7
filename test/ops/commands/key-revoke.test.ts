import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { generateKey, hashKey } from '../../../src/domain/api-key.ts';
import type { CreatedKey } from '../../../src/services/keys/create-key.ts';
import { findKey } from '../../../src/services/keys/find-key.ts';
import { runCli } from '../../support/run-cli.ts';
import { startProduction } from '../../support/shared.ts';
import { makeKey, remoteDatabase, setUpContext } from './database.ts';

const BY = ['--by', 'Ada, phone call'];

describe('key:revoke', () => {
  let remote: Awaited<ReturnType<typeof remoteDatabase>>;
  beforeAll(async () => {
    remote = await remoteDatabase();
  });
  afterAll(() => remote.close());

  const run = (args: string[], input: string[] = []) =>
    runCli('key:revoke', [...args, '--remote'], { input, env: remote.env });
  const isRevoked = async ({ value }: CreatedKey) =>
    (await findKey(setUpContext(remote.db), await hashKey(value)))?.revokedAt !== null;

  test('revokes the key whose value or hint arrives on standard input, and never prints the value', async () => {
    const [byValue, byHint] = [await makeKey(remote.db, 'By value'), await makeKey(remote.db, 'By hint')];
    for (const { key, input } of [
      { key: byValue, input: `Bearer ${byValue.value}\n` },
      { key: byHint, input: byHint.hint },
    ]) {
      const { code, stdout, stderr } = await run(BY, [input]);
      expect([code, stderr]).toEqual([0, '']);
      for (const part of [key.name, key.hint, key.id, 'northwind']) expect(stdout).toContain(part);
      expect(stdout).not.toContain(key.value.slice(4, 20));
      expect(await isRevoked(key)).toBe(true);
    }
    const again = await run(BY, [byHint.hint]);
    expect([again.code, again.stdout.includes(byHint.id)]).toEqual([0, true]);
    const { results } = await remote.db
      .prepare("select actor_name, target_id from audit_log where action = 'api_key.revoked' order by seq")
      .all();
    expect(results).toEqual([byValue, byHint].map(({ id }) => ({ actor_name: 'Ada, phone call', target_id: id })));
  });

  test('revokes nothing if the input is no key of the database', async () => {
    const key = await makeKey(remote.db, 'Kept');
    const refused = await Promise.all([
      run(BY, [`${generateKey('twb')}\n`]),
      run(BY, [key.value.slice(0, -1)]),
      run([...BY, '--organization', 'contoso', '--key', key.id]),
    ]);
    expect(refused.map(({ code, stdout }) => [code, stdout])).toEqual(Array(3).fill([1, '']));
    for (const { stderr } of refused) expect(stderr).not.toContain(key.value.slice(4, 20));
    expect(await isRevoked(key)).toBe(false);
  });

  test('prints its usage after a wrong call, and refuses a key value as an argument without repeating it', async () => {
    const key = await makeKey(remote.db, 'Kept too');
    const misused = await Promise.all([
      run(BY),
      run([], [key.value]),
      run([...BY, key.value]),
      run([...BY, '--organization', 'northwind', '--key', key.value]),
      run([...BY, `--${key.value}`]),
    ]);
    for (const { code, stdout, stderr } of misused) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Usage: npm run ops -- key:revoke');
      expect(stderr).not.toContain(key.value.slice(4, 20));
    }
    expect(await isRevoked(key)).toBe(false);
  });

  test('lists the keys with the same hint, and revokes the selected one', async () => {
    const [one, two] = [await makeKey(remote.db, 'Twin'), await makeKey(remote.db, 'Other twin')];
    // Older versions accepted control characters in names.
    await remote.db
      .prepare('update api_keys set hint = ?, name = ? where id = ?')
      .bind(one.hint, 'Other\u001b twin', two.id)
      .run();
    const listed = async () => {
      const { code, stderr } = await run(BY, [one.hint]);
      expect(code).toBe(1);
      return stderr.split('\n').filter((line) => line.includes('--key'));
    };
    expect(await listed()).toEqual([
      expect.stringMatching(`--organization northwind --key ${one.id}: "Twin" .*active`),
      expect.stringMatching(`--organization northwind --key ${two.id}: "Other\\\\u001b twin" .*active`),
    ]);
    const named = await run([...BY, '--organization', 'northwind', '--key', two.id]);
    expect([named.code, named.stdout.includes(two.id)]).toEqual([0, true]);
    expect(await listed()).toEqual([expect.stringMatching(/active$/), expect.stringMatching(/revoked$/)]);
  });
});

test('a running server refuses a key at the next request after the command revoked it', async () => {
  const { url, key, persistTo, close } = await startProduction({});
  onTestFinished(close);
  const ping = async () =>
    (await fetch(new URL('/api/v1/ping', url), { headers: { Authorization: `Bearer ${key}` } })).status;
  expect(await ping()).toBe(200);
  const revoked = await runCli('key:revoke', [...BY, '--persist-to', persistTo], { input: [key] });
  expect([revoked.code, revoked.stderr]).toEqual([0, '']);
  expect(await ping()).toBe(401);
});
