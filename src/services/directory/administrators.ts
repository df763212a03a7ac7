import {
  type AdministratorRow,
  findAdministrator,
  findAdministratorNames,
  findTimeZone,
} from '../../db/directory/administrator-statements.ts';
import type { Statement } from '../../db/statement.ts';
import { errorOf } from '../../domain/errors.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { pick } from '../../lib/objects.ts';
import { readAll, readBatch, readOne } from '../call-d1.ts';
import type { AdminContext, ServiceContext } from '../service-context.ts';

export const MAX_LISTED_ORGANIZATIONS = 100;

/** A tab of an organization's pages, which a module adds after the one of the keys. */
export interface Tab {
  title: string;
  /** Below the organization's base path. */
  path: `/${string}`;
  /** How much waits there. It is read with the administrator for each page, so its rows must be few. */
  waiting: Statement<{ organizationId: string }, { count: number }>;
}

/** The organizations that a person administers, by name. Beyond the first 100, only `organizationId`. */
export async function administrationsOf(
  ctx: ServiceContext,
  email: string,
  organizationId = '',
  tabs: readonly Tab[] = [],
) {
  const [results, ...counts] = await readBatch<[AdministratorRow, ...{ count: number }[]]>(ctx, [
    findAdministrator.bind({
      email,
      organizationId,
      limit: MAX_LISTED_ORGANIZATIONS,
      now: ctx.now(),
    }),
    ...tabs.map(({ waiting }) => waiting.bind({ organizationId })),
  ]);
  const waiting = new Map(tabs.map(({ path }, index) => [path, counts[index]?.[0]?.count ?? 0]));
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
      },
      /** How many keys and reasons of refused uses need attention; 0 except in the organization of the request. */
      refused: row.refused,
      /** How much waits on each tab of a module, by its path; only in the organization of the request. */
      waiting: row.organizationId === organizationId ? waiting : new Map<Tab['path'], number>(),
      /** What keeps the changes of the organization from its PSA, and since when; all null for nothing. */
      pushTrouble: pick(row, ['failingSince', 'failure', 'stoppedAt']),
      connectionTrouble: pick(row, ['disconnectedSince', 'disconnectedBy']),
    }))
    .sort((a, b) => compareNaturally(a.organization.name, b.organization.name));
}

export type Administration = Awaited<ReturnType<typeof administrationsOf>>[number];

export async function listAdministratorNames(ctx: AdminContext): Promise<string[]> {
  return (await readAll(ctx, findAdministratorNames.bind(ctx.actor))).map(({ name }) => name);
}

/** @throws ServiceError `not_administrator` */
export async function administratorsTimeZone(ctx: AdminContext): Promise<string> {
  const found = await readOne(ctx, findTimeZone.bind(ctx.actor));
  if (!found) throw errorOf('not_administrator');
  return found.timeZone;
}
