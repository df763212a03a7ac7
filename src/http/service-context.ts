import type { PrincipalScope, RequestScope } from '../env.ts';
import type { ApiContext, ServiceContext } from '../services/context.ts';

const MAX_USER_AGENT_LENGTH = 100;

/** What any verb needs of a request. */
export function serviceContext(c: RequestScope): ServiceContext {
  const { now, deadlineAt, requestId } = c.var;
  return { db: c.env.DB, now, deadlineAt, requestId };
}

/** What the verbs of the API need; only a route behind `guard` has the principal for it. */
export function apiContext(c: PrincipalScope): ApiContext {
  const source = {
    address: c.req.header('CF-Connecting-IP') ?? null,
    userAgent: c.req.header('User-Agent')?.slice(0, MAX_USER_AGENT_LENGTH).toWellFormed() ?? null,
  };
  return { ...serviceContext(c), principal: c.var.principal, source };
}
