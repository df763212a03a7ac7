import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLocalD1 } from '../../src/ops/local.ts';
import { migrate } from '../../src/ops/migrations.ts';
import type { LocalDatabase } from './command.ts';

/** Creates a migrated local database. Tests copy the shared one instead: `copyDatabase`. */
export async function localDatabase(): Promise<LocalDatabase> {
  const persistTo = await mkdtemp(join(tmpdir(), 'ticket-write-back-'));
  await withLocalD1(persistTo, (db) => migrate(db));
  return { persistTo, remove: () => rm(persistTo, { recursive: true }) };
}
