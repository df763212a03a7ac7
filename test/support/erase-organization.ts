import { beginErasure, eraseRows } from '../../src/services/directory/erase-organization.ts';
import type { ServiceContext } from '../../src/services/service-context.ts';

/** Erases an organization as the operator's command does. Returns how many rows it removed. */
export async function eraseOrganization(
  ctx: ServiceContext,
  request: { organization: string; cursor: string | null; by: string },
  limit?: number,
): Promise<number> {
  const erasure = await beginErasure(ctx, request);
  let removed = 0;
  for await (const { rows } of eraseRows(ctx, erasure, limit)) removed += rows;
  return removed;
}
