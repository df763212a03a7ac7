import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { copyDatabase } from '../../support/shared.ts';

/** The processes of workerd that this one has started. */
const runtimes = () => execFileSync('pgrep', ['-P', String(process.pid), 'workerd'], { encoding: 'utf8' });

const BYTES = 4 * 1024 * 1024;

test('a local database that returns much text gets another runtime each 16 MiB, and no call is lost', async () => {
  const { persistTo, remove } = await copyDatabase();
  onTestFinished(remove);
  await withLocalD1(persistTo, async (db) => {
    const read = async () => {
      const text = await db
        .prepare('select hex(zeroblob(?1)) as text')
        .bind(BYTES / 2)
        .first<string>('text');
      expect(text).toHaveLength(BYTES);
    };
    await read();
    const before = runtimes();
    for (let call = 0; call < 3; call++) await read();
    expect(runtimes()).toBe(before);
    await read();
    expect(runtimes()).not.toBe(before);
    // The database is busy with this one when the others have returned enough.
    const others = Array.from({ length: 4 }, () => read().then(read));
    const busy = db.prepare(
      'with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) select count(*) as n from n',
    );
    expect(await busy.first('n')).toBe(3_000_000);
    await Promise.all(others);
  });
});
