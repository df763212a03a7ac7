import type * as z from 'zod/mini';
import { directoryId } from '../../domain/directory.ts';
import { errorOf } from '../../domain/errors.ts';
import { freeText, lazyObject } from '../../domain/fields.ts';
import { byAdministrator, bySystem } from '../audit/write-with-audit.ts';
import { parseInput } from '../parse-input.ts';
import type { AdminContext, PushControl, ServiceContext, SystemContext } from '../service-context.ts';
import { requireCursor } from './require-cursor.ts';

/** The input of `resumePush`. `by` names who asked for it, for the audit log. */
export const resumeRequest = lazyObject(() => ({ organization: directoryId('an organization'), by: freeText(100) }));

/**
 * Resumes an organization's push immediately, whether it is stopped or waits after a failure.
 * @throws ServiceError `invalid`, `not_pushed`, `organization_not_found`, `being_erased`
 */
export async function resumePush(ctx: SystemContext, request: z.input<typeof resumeRequest>) {
  const { organization, by } = parseInput(resumeRequest, request);
  await requireCursor(ctx, organization, null);
  return requirePushControl(ctx).resume(ctx, bySystem(ctx, organization, by));
}

/** @throws ServiceError `not_pushed`, `not_administrator` */
export async function resumeAsAdministrator(ctx: AdminContext): Promise<void> {
  await requirePushControl(ctx).resume(ctx, byAdministrator(ctx));
}

function requirePushControl({ pushControl }: ServiceContext): PushControl {
  if (pushControl) return pushControl;
  throw errorOf('not_pushed');
}
