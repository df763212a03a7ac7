import {
  findAdministered,
  findAdministratorNames,
  findAdministrators,
  findTimeZone,
} from '../../db/directory/administrator-statements.ts';
import { countWaiting } from '../../db/work/time-queue-statements.ts';
import { errorOf } from '../../domain/errors.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { query } from '../call-d1.ts';
import type { AdminContext, ServiceContext } from '../service-context.ts';

export const MAX_LISTED_ORGANIZATIONS = 100;

/** The organizations that a person administers, by name. Beyond the first 100, only `organizationId`. */
export async function administrationsOf(ctx: ServiceContext, email: string, organizationId?: string) {
  const asked = organizationId ?? '';
  const search = { email, organizationId: asked, limit: MAX_LISTED_ORGANIZATIONS, now: ctx.now() };
  const [results, [waiting]] = await query(ctx, 'nothing_written', (db) =>
    db.batch([findAdministered(db, search), countWaiting(db, asked)]),
  );
  return results
    .map((row) => ({
      userId: row.userId,
      userName: row.userName,
      email,
      organization: {
        id: row.organizationId,
        name: row.organizationName,
        timeZone: row.timeZone,
        hasPsa: row.hasPsa === 1,
        /** Who decides about new time. */
        approvals: row.approvals,
        /** As its adapter reports it. */
        psaName: row.psaName,
      },
      /** How many keys and reasons of refused uses need attention; 0 except in the organization of the request. */
      refused: row.refused,
      /** How many time entries wait for approval, at most `MAX_COUNTED`; 0 except in the organization of the request. */
      waiting: row.organizationId === organizationId ? (waiting?.count ?? 0) : 0,
    }))
    .sort((a, b) => compareNaturally(a.organization.name, b.organization.name));
}

export type Administration = Awaited<ReturnType<typeof administrationsOf>>[number];

export async function listAdministratorNames(ctx: AdminContext): Promise<string[]> {
  const rows = await query(ctx, 'nothing_written', (db) => findAdministratorNames(db, ctx.actor.organizationId));
  return rows.map(({ name }) => name);
}

/** A person who administers the organization, with the time of the last change here (UTC milliseconds), if there is one. */
export type Administrator = Awaited<ReturnType<typeof listAdministrators>>[number];

export const listAdministrators = (ctx: AdminContext) =>
  query(ctx, 'nothing_written', (db) => findAdministrators(db, ctx.actor.organizationId));

/** @throws ServiceError `not_administrator` */
export async function administratorsTimeZone(ctx: AdminContext): Promise<string> {
  const [found] = await query(ctx, 'nothing_written', (db) => findTimeZone(db, ctx.actor));
  if (!found) throw errorOf('not_administrator');
  return found.timeZone;
}
