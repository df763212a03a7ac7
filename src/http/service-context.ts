import type { AdministratorScope, PrincipalScope, RequestScope } from '../env.ts';
import type { AdminContext, ApiContext, ServiceContext, Source } from '../services/context.ts';

const MAX_USER_AGENT_LENGTH = 100;

/** What any verb needs of a request. */
export function serviceContext(c: RequestScope): ServiceContext {
  const { now, deadlineAt, requestId } = c.var;
  return { db: c.env.DB, now, deadlineAt, requestId };
}

/** What the verbs of the API need; only a route behind `guard` has the principal for it. */
export function apiContext(c: PrincipalScope): ApiContext {
  return { ...serviceContext(c), principal: c.var.principal, source: sourceOf(c) };
}

/** What the verbs of an administrator need; only a page behind `signIn` has the administrator for it. */
export function adminContext(c: AdministratorScope): AdminContext {
  const { userId, organization } = c.var.administrator;
  return { ...serviceContext(c), organizationId: organization.id, actorId: userId, source: sourceOf(c) };
}

/** Where the request came from. */
export function sourceOf(c: RequestScope): Source {
  return {
    address: c.req.header('CF-Connecting-IP') ?? null,
    userAgent: c.req.header('User-Agent')?.slice(0, MAX_USER_AGENT_LENGTH).toWellFormed() ?? null,
  };
}
