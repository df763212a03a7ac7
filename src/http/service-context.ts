import type { AdministratorScope, PrincipalScope, RequestScope } from '../env.ts';
import type { AdminContext, ApiContext, ServiceContext } from '../services/context.ts';

/** What any verb needs of a request. */
export function serviceContext(c: RequestScope): ServiceContext {
  const now = c.get('now');
  const deadlineAt = c.get('deadlineAt');
  const requestId = c.get('requestId');
  const facts = c.get('facts');
  return { db: c.env.DB, now, deadlineAt, requestId, calls: facts };
}

/** What the verbs of the API need; only a route behind `guard` has the principal for it. */
export function apiContext(c: PrincipalScope): ApiContext {
  return { ...serviceContext(c), principal: c.get('principal'), source: c.get('source') };
}

/** What the verbs of an administrator need; only a page behind `signIn` has the administrator for it. */
export function adminContext(c: AdministratorScope): AdminContext {
  const { userId, organization } = c.get('administrator');
  return { ...serviceContext(c), organizationId: organization.id, actorId: userId, source: c.get('source') };
}
