import { type AdministratorRow, findAdministrator } from '../../db/directory/administrators.ts';
import { atD1 } from '../audit/write-with-audit.ts';
import type { ServiceContext } from '../context.ts';

/** A person as administrator of one organization. */
export interface Administration {
  userId: string;
  userName: string;
  organization: { id: string; name: string; timeZone: string; hasPsa: boolean };
}

/**
 * What the person with this e-mail address administers: none, one or several organizations, by name.
 * @throws Refusal `unavailable`
 */
export async function administrationsOf(ctx: ServiceContext, email: string): Promise<Administration[]> {
  const { results } = await atD1(ctx, () => findAdministrator.bind(ctx.db, { email: email.toLowerCase() }).all<AdministratorRow>());
  return results.map(({ userId, userName, organizationId, organizationName, timeZone, hasPsa }) => ({
    userId,
    userName,
    organization: { id: organizationId, name: organizationName, timeZone, hasPsa: hasPsa === 1 },
  }));
}
