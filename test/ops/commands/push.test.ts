import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PushRow, savePushState } from '../../../src/modules/push/push-state.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { runCli } from '../../support/run-cli.ts';
import { remoteDatabase, setUpContext, writeNotes } from './database.ts';

const BY = ['--by', 'Ada, ticket 77'];
const SINCE = Date.parse('2026-11-22T08:00:00Z');
const FAILING = {
  confirmedSeq: 1,
  confirmedAt: SINCE - 1_000,
  failingSince: SINCE,
  attempts: 7,
  failure: 'HTTP 500',
  nextAttemptAt: SINCE + 600_000,
  stoppedAt: null,
} satisfies PushRow;

describe('the commands of the push and the alerts', () => {
  let remote: Awaited<ReturnType<typeof remoteDatabase>>;
  let cursors: string[];
  beforeAll(async () => {
    remote = await remoteDatabase();
    await writeNotes(remote.db, ['one', 'two', 'three']);
    const page = await listChanges(setUpContext(remote.db), { organization: 'fabrikam', cursor: null, limit: 100 });
    cursors = page.changes.map(({ cursor }) => cursor);
  });
  afterAll(() => remote.close());

  const run = (command: string, ...args: string[]) => runCli(command, [...args, '--remote'], { env: remote.env });
  const save = (state: Partial<PushRow>, doneOrderId: string | null = null) =>
    savePushState(setUpContext(remote.db), 'fabrikam', { ...FAILING, ...state }, doneOrderId);
  const row = () => remote.db.prepare("select * from pushes where organization_id = 'fabrikam'").first();

  test('push:status says that nothing was ever pushed, then how far each organization is', async () => {
    const [before, resumed] = await Promise.all([run('push:status'), run('push:resume', 'fabrikam', ...BY)]);
    expect([before.code, before.stderr]).toEqual([0, '']);
    expect(before.stdout).toMatch(/^fabrikam: never pushed; 4 changes waiting, the oldest from 20\S+Z$/m);
    expect(before.stdout).toContain('The push has never run here. Set WEBHOOK_URL');
    expect(resumed).toMatchObject({
      code: 1,
      stderr: 'Organization fabrikam was never pushed, so there is nothing to resume.\n',
    });

    await save({});
    const [{ stdout }, json, unknown] = await Promise.all([
      run('push:status', '--organization', 'fabrikam'),
      run('push:status', '--json'),
      run('push:status', '--organization', 'nobody'),
    ]);
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^fabrikam: confirmed 1 of 4; 3 changes waiting, the oldest from 20\S+Z$/),
      '  failing since 2026-11-22T08:00:00.000Z: 7 attempts; the last failure: HTTP 500',
      '  next attempt at 2026-11-22T08:10:00.000Z',
      '',
    ]);
    const lines = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ organization }) => organization).sort()).toEqual(lines.map(({ organization }) => organization));
    expect(lines.find(({ organization }) => organization === 'fabrikam')).toEqual({
      organization: 'fabrikam',
      confirmedSeq: 1,
      confirmedAt: '2026-11-22T07:59:59.000Z',
      newestSeq: 4,
      waiting: 3,
      waitingSince: expect.stringMatching(/^20\S+Z$/),
      failingSince: '2026-11-22T08:00:00.000Z',
      attempts: 7,
      failure: 'HTTP 500',
      nextAttemptAt: '2026-11-22T08:10:00.000Z',
      stoppedAt: null,
      isOrdered: false,
    });
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
  });

  test('push:resume leaves an order for the object, with an audit row', async () => {
    await save({ stoppedAt: SINCE, nextAttemptAt: 0 });
    const status = await run('push:status', '--organization', 'fabrikam');
    expect(status.stdout).toContain('  STOPPED at 2026-11-22T08:00:00.000Z, because the receiver answered 410');
    const { code, stdout, stderr } = await run('push:resume', 'fabrikam', ...BY);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('within 5 minutes');
    const ordered = await row();
    expect(ordered).toMatchObject({ order_id: expect.any(String), resume: 1, skip_to_seq: null });
    expect((await run('push:status', '--organization', 'fabrikam')).stdout).toContain('an order waits');
    const audited = await remote.db
      .prepare("select actor_type, actor_name, target_id from audit_log where action = 'push.resumed'")
      .all();
    expect(audited.results).toEqual([{ actor_type: 'system', actor_name: 'Ada, ticket 77', target_id: 'fabrikam' }]);
    // Only the object that has carried it out removes it.
    await save({});
    await save({}, 'another-order');
    expect(await row()).toMatchObject({ order_id: ordered?.['order_id'], resume: 1 });
    await save({}, String(ordered?.['order_id']));
    expect(await row()).toMatchObject({ order_id: null, resume: 0 });
  });

  test('push:skip leaves an order with the cursor, and the audit row says what is not delivered', async () => {
    const skip = (to: string | undefined) => run('push:skip', 'fabrikam', ...(to ? ['--to', to] : []), ...BY);
    const refused = await Promise.all([skip(cursors[0]), skip('nonsense'), skip(cursors[2]?.replace('.3.', '.2.'))]);
    const misused = await Promise.all([skip(undefined), run('push:skip', 'fabrikam', '--to', cursors[2] ?? '')]);
    expect(misused.map(({ code }) => code)).toEqual([2, 2]);
    expect(refused.map(({ code, stdout }) => [code, stdout])).toEqual([
      [1, ''],
      [2, ''],
      [1, ''],
    ]);
    expect(refused[0]?.stderr).toContain('change 1 is confirmed; send a later one');
    expect(refused[2]?.stderr).toContain('not that of a change of organization fabrikam');

    const { code, stdout, stderr } = await skip(cursors[2]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Changes 2 to 3 of organization fabrikam are left out; .* within 5 minutes\./);
    expect(await row()).toMatchObject({ skip_to_seq: 3, skip_to_cursor: cursors[2], resume: 0, confirmed_seq: 1 });
    const audited = await remote.db.prepare("select detail from audit_log where action = 'push.skipped'").all();
    expect(audited.results).toEqual([{ detail: 'changes 2 to 3 are not delivered, unless they were before' }]);
  });

  test('alerts:status lists what waits, and why; it does not show what was sent', async () => {
    expect((await run('alerts:status')).stdout).toBe('No alert waits to be sent.\n');
    expect(await run('alerts:status', '--organization', 'nowhere')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('There is no organization nowhere.'),
    });
    const insert = remote.db.prepare(
      `insert into alerts values (?1, ?4, 's', ?3, 1, ?2, ?5, '{}', ?6, ?5 + 240000, ?7, ?8)`,
    );
    await remote.db.batch([
      insert.bind('fabrikam', 'alert_1', 'push', 'key_unused', SINCE, 2, 'HTTP 503', null),
      insert.bind('fabrikam', 'alert_1', 'chat', 'key_unused', SINCE, 1, null, SINCE),
      insert.bind('', 'alert_2', 'chat', 'database_size', SINCE + 1, 0, null, null),
    ]);
    const [text, json, one] = await Promise.all([
      run('alerts:status'),
      run('alerts:status', '--json'),
      run('alerts:status', '--organization', 'northwind'),
    ]);
    expect(text.stdout.split('\n')).toEqual([
      'fabrikam: alert.key_unused of 2026-11-22T08:00:00.000Z waits for WEBHOOK_URL',
      '  2 attempts; the last failure: HTTP 503; next attempt at 2026-11-22T08:04:00.000Z',
      'the deployment: alert.database_size of 2026-11-22T08:00:00.001Z waits for ALERT_URL',
      '',
    ]);
    expect(JSON.parse(json.stdout.split('\n')[1] ?? '')).toEqual({
      organization: null,
      id: 'alert_2',
      type: 'alert.database_size',
      address: 'ALERT_URL',
      foundAt: '2026-11-22T08:00:00.001Z',
      attempts: 0,
      nextAttemptAt: '2026-11-22T08:04:00.001Z',
      failure: null,
    });
    expect(one.stdout).toBe('No alert waits to be sent.\n');
  });
});
