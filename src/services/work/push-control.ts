import type * as z from 'zod';
import { directoryId } from '../../domain/directory.ts';
import { errorOf } from '../../domain/errors.ts';
import { freeText, lazyObject } from '../../domain/fields.ts';
import { bySystem } from '../audit/write-with-audit.ts';
import { parseInput } from '../parse-input.ts';
import type { PushControl, ServiceContext, SystemContext } from '../service-context.ts';
import { cursorText, requireCursor } from './require-cursor.ts';

/** The input of `resumePush`. `by` names who asked for it, for the audit log. */
export const resumeRequest = lazyObject(() => ({ organization: directoryId('an organization'), by: freeText(100) }));

export const skipRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  to: cursorText.meta({ description: 'The cursor of the last change to leave out.' }),
  by: freeText(100),
}));

/**
 * Resumes an organization's push immediately, whether it is stopped or waits after a failure.
 * @throws ServiceError `invalid`, `not_pushed`, `organization_not_found`, `being_erased`
 */
export async function resumePush(ctx: SystemContext, request: z.input<typeof resumeRequest>) {
  const { organization, by } = parseInput(resumeRequest, request);
  await requireCursor(ctx, organization, null);
  return requirePushControl(ctx).resume(ctx, bySystem(ctx, organization, by));
}

/**
 * Leaves out an organization's changes up to a cursor. They stay in the feed.
 * @throws ServiceError `invalid`, `not_pushed`, `cursor_reset`, `organization_not_found`, `being_erased`
 */
export async function skipPush(ctx: SystemContext, request: z.input<typeof skipRequest>) {
  const { organization, to, by } = parseInput(skipRequest, request);
  await requireCursor(ctx, organization, to);
  return requirePushControl(ctx).skip(ctx, bySystem(ctx, organization, by), to);
}

function requirePushControl({ pushControl }: ServiceContext): PushControl {
  if (pushControl) return pushControl;
  throw errorOf('not_pushed');
}
