import type * as z from 'zod';
import { directoryId } from '../../domain/directory.ts';
import { errorOf } from '../../domain/errors.ts';
import { freeText, lazyObject } from '../../domain/fields.ts';
import { bySystem } from '../audit/write-with-audit.ts';
import { parseInput } from '../parse-input.ts';
import type { PushControl, ServiceContext, SystemContext } from '../service-context.ts';
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

function requirePushControl({ pushControl }: ServiceContext): PushControl {
  if (pushControl) return pushControl;
  throw errorOf('not_pushed');
}
