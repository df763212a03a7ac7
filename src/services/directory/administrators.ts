import { findAdministrator, findTimeZone } from '../../db/directory/administrators.ts';
import { ServiceError } from '../../domain/errors.ts';
import { callD1 } from '../call-d1.ts';
import type { ActorContext, AdminActor, ServiceContext } from '../context.ts';

/** A person as an administrator of one organization. */
export interface Administration {
  userId: string;
  userName: string;
  organization: { id: string; name: string; timeZone: string; hasPsa: boolean };
}

/**
 * The organizations that the person with this email address administers, by name.
 * @throws ServiceError `unavailable`
 */
export async function administrationsOf(ctx: ServiceContext, email: string): Promise<Administration[]> {
  const { results } = await callD1(ctx, 'nothing_written', (db) =>
    findAdministrator.bind({ email: email.toLowerCase() }).all(db),
  );
  return results.map(({ userId, userName, organizationId, organizationName, timeZone, hasPsa }) => ({
    userId,
    userName,
    organization: { id: organizationId, name: organizationName, timeZone, hasPsa: hasPsa === 1 },
  }));
}

/** The actor is not, or no longer, an active administrator of the organization. */
export function notAdministrator(): ServiceError {
  return new ServiceError('not_administrator', 'You are not an active administrator of this organization.');
}

/**
 * The time zone of the administrator's organization.
 * @throws ServiceError `not_administrator`, `unavailable`
 */
export async function administratorsTimeZone(ctx: ActorContext<AdminActor>): Promise<string> {
  const found = await callD1(ctx, 'nothing_written', (db) => findTimeZone.bind(ctx.actor).first(db));
  if (!found) throw notAdministrator();
  return found.timeZone;
}
