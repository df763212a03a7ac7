import type * as z from 'zod/mini';
import { keysOf } from '../../lib/objects.ts';
import {
  deactivateRecords,
  deactivateRequest,
  upsertRecords,
  upsertRequest,
} from '../../services/directory/change-records.ts';
import { listRecords, listRequest } from '../../services/directory/list-records.ts';
import { requireInput } from '../../services/parse-input.ts';
import type { DirectoryContext, SystemContext } from '../../services/service-context.ts';
import { changesRequest, listChanges, MAX_PAGE_BYTES } from '../../services/work/list-changes.ts';
import { resumePush, resumeRequest } from '../../services/work/push-control.ts';
import {
  approvalRequest,
  readPsaStatus,
  redactRecord,
  redactRequest,
  reportRecord,
  reportRequest,
  setApproval,
  statusRequest,
} from '../../services/work/record-services.ts';

type PsaContext = SystemContext & DirectoryContext;

/**
 * A call of the PSA, with the service that it runs. `run` throws the ServiceError
 * `invalid` if the data do not have the shape of the request.
 */
function psaCall<Request extends z.ZodMiniType>(
  request: Request,
  service: (ctx: PsaContext, data: z.input<Request>) => Promise<unknown>,
) {
  const run = async (ctx: PsaContext, data: unknown) => {
    requireInput(request, data);
    return service(ctx, data);
  };
  return { request, run };
}

/** The calls by the `type` of their message; the pages in docs describe them. */
export const PSA_CALLS = {
  'directory.upsert': psaCall(upsertRequest, upsertRecords),
  'directory.deactivate': psaCall(deactivateRequest, deactivateRecords),
  'directory.list': psaCall(listRequest, listRecords),
  'work.changes': psaCall(changesRequest, (ctx, data) => listChanges(ctx, data, MAX_PAGE_BYTES)),
  'work.review': psaCall(approvalRequest, setApproval),
  'work.report': psaCall(reportRequest, reportRecord),
  'work.status': psaCall(statusRequest, readPsaStatus),
  'work.redact': psaCall(redactRequest, redactRecord),
  'push.resume': psaCall(resumeRequest, resumePush),
};

export type PsaCallType = keyof typeof PSA_CALLS;
export const PSA_CALL_TYPES = keysOf(PSA_CALLS);
