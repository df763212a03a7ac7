import { expect, test } from 'vitest';
import { D1Failure } from '../../../src/db/run-d1.ts';
import { explain } from '../../../src/ops/command.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import { callD1 } from '../../../src/services/call-d1.ts';

/** A database that another program has locked for the first calls. */
function locked(calls: number) {
  let made = 0;
  return async () => {
    made += 1;
    if (made <= calls) throw new Error('D1_ERROR: database is locked: SQLITE_BUSY');
    return made;
  };
}

const unused = () => {
  throw new Error('the calls of these tests do not use the database');
};
const context = operatorContext({
  prepare: unused,
  batch: unused,
  exec: unused,
  withSession: unused,
  dump: unused,
});

test('a command tries a locked local database three times', async () => {
  await expect(callD1(context, 'nothing_written', locked(2))).resolves.toBe(3);
});

test('a database that stays locked is explained to the operator in one sentence', async () => {
  const failure = await callD1(context, 'nothing_written', locked(9)).catch((err: unknown) => err);
  expect(explain(failure)).toBe('Another program is writing to this local database. Run the command again.');
});

test('a request does not wait for a lock, because its caller may repeat it', async () => {
  const { waitsForLock, ...ofRequest } = context;
  expect(waitsForLock).toBe(true);
  const failure = await callD1(ofRequest, 'nothing_written', locked(1)).catch((err: unknown) => err);
  expect(failure).toMatchObject({ code: 'unavailable', cause: expect.any(D1Failure) });
});
