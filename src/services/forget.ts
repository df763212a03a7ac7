import { forgetAddresses } from '../db/keys/refused-use-statements.ts';
import type { BoundStatement } from '../db/statement.ts';
import { ADDRESS_RETENTION_MS } from '../domain/refused-use.ts';
import { write } from './call-d1.ts';
import { forNextCall, type ServiceContext } from './service-context.ts';

// The daily removal of old data. Each function returns whether nothing is left to remove.

/** How much one run removes: at most `chunks` transactions of at most `rows` rows. A daily run may make 1,000 queries. */
const LIMITS = { rows: 1_000, chunks: 200 };

/** Removes the source addresses of old refused uses. */
export function forgetOldAddresses(ctx: ServiceContext, limits = LIMITS): Promise<boolean> {
  const before = ctx.now() - ADDRESS_RETENTION_MS;
  return runInChunks(ctx, limits, (limit) => forgetAddresses.bind({ before, limit }));
}

async function runInChunks(
  ctx: ServiceContext,
  { rows, chunks }: typeof LIMITS,
  change: (limit: number) => BoundStatement<never>,
): Promise<boolean> {
  const statement = change(rows);
  for (let chunk = 0; chunk < chunks; chunk++) {
    const changes = await write(forNextCall(ctx), 'safe_to_repeat', statement);
    if (changes < rows) return true;
  }
  return false;
}
