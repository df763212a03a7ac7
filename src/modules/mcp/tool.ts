import * as z from 'zod/mini';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { fieldErrors, ruleError, unquoted } from '../../domain/fields.ts';
import { checkIdempotencyKey } from '../../domain/idempotency-key.ts';
import type { DryRunResult, ReplayFields } from '../../domain/response-shapes.ts';
import { dryRunResult, type ProblemJson, type ToolResult, type Written, writtenResult } from './tool-result.ts';

const ticketRule = 'the id of a ticket: a string of 1 to 64 letters, digits and ._~-';

/** The arguments of every tool that are not in the body of its request. */
export const callFields = {
  ticketId: z.string({ error: ruleError(ticketRule) }).check(
    z.regex(DIRECTORY_ID, { error: ruleError(ticketRule) }),
    z.meta({
      description:
        'The id of the ticket, as a string, such as "1001". Use only an id that you were given for this task; never guess or change it. If you are not sure, ask.',
    }),
  ),
  idempotencyKey: z.string({ error: ruleError('a string that identifies the event') }).check(
    z.meta({
      description:
        'Identifies the event that this call reports: `<workflow>:<event id>`, such as `triage:evt-20418`; ASCII without spaces. If you were not given an event id, ask for one: do not use a random value, the time, or the ticket id alone. Use the same value in every retry of this call, even after a timeout or with other words: a second call with it never writes a second record.',
    }),
  ),
  dryRun: z
    .nullish(
      z.boolean({
        error: ruleError(
          'true or false, or leave the field out',
          unquoted((value) => typeof value === 'boolean'),
        ),
      }),
    )
    .check(
      z.meta({
        description: 'With true, the call is checked and nothing is written. The idempotencyKey stays unused.',
      }),
    ),
};
type CallFields = z.output<z.ZodMiniObject<typeof callFields>>;

/** The request to the API for a call. */
interface CallRequest {
  ticketId: string;
  idempotencyKey: string;
  dryRun: boolean;
  body: object;
}

/** What a call asks for, or what is wrong with its arguments, with a request that the API refuses for them. */
type ParsedCall =
  | { ok: true; request: CallRequest }
  | { ok: false; problem: Omit<ProblemJson, 'requestId'>; request: CallRequest };

/** An entry in `tools/list`, and its translation into a request to the API. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodMiniType;
  parse: (args: unknown, keyPrefix: string) => ParsedCall;
  /** The result for a response to the request: a record, written now or before, or that the request was accepted. */
  resultOf: (response: Response, call: { ticketId: string; dryRun: boolean }) => Promise<ToolResult>;
}

interface ToolDescription<Input extends z.ZodMiniType, Response> extends Omit<Tool, 'parse' | 'resultOf'> {
  input: Input;
  show: (response: Response, ticketId: string) => Written;
}

/** `Shown` is the response of the API to a write. */
export const makeTool = <Input extends z.ZodMiniType<CallFields>, Shown extends ReplayFields>({
  show,
  ...tool
}: ToolDescription<Input, Shown>): Tool => ({
  ...tool,
  parse: (args = {}, keyPrefix) => {
    const given = withTextId(args);
    const refused = (problem: Omit<ProblemJson, 'requestId'>) => ({
      ok: false as const,
      problem,
      request: refusedRequest(given, keyPrefix),
    });
    const parsed = tool.input.safeParse(given);
    if (!parsed.success) return refused({ code: 'validation_failed', detail: '', errors: fieldErrors(parsed.error) });
    const { ticketId, idempotencyKey, dryRun, ...body } = parsed.data;
    const checked = checkIdempotencyKey(idempotencyKey, keyPrefix);
    if (checked.ok) return { ok: true, request: { ticketId, idempotencyKey, dryRun: dryRun === true, body } };
    return refused({
      code: 'invalid_idempotency_key',
      detail: `idempotencyKey ${checked.rule}; ${checked.remedy}.`,
    });
  },
  resultOf: async (response, { ticketId, dryRun }) => {
    if (dryRun) return dryRunResult(await response.json<DryRunResult>());
    const shown = await response.json<Shown>();
    return writtenResult({ ticketId }, show(shown, ticketId), shown);
  },
});

const anyFields = z.catch(z.record(z.string(), z.unknown()), {});

/**
 * A request with wrong arguments, whose ticket and fields the log of refused requests gets. It is a dry run, so it never
 * writes. The API refuses it after it has checked key, scope, limit and plan: it knows no field `ticketId` or `dryRun`.
 */
function refusedRequest(args: unknown, keyPrefix: string): CallRequest {
  const { ticketId, idempotencyKey, dryRun, ...body } = anyFields.parse(args);
  const ticket = callFields.ticketId.safeParse(ticketId);
  const key = callFields.idempotencyKey.safeParse(idempotencyKey);
  return {
    // Neither is an id.
    ticketId: ticket.success ? ticket.data : '%20',
    idempotencyKey: key.success && checkIdempotencyKey(key.data, keyPrefix).ok ? key.data : ':',
    dryRun: true,
    body: {
      ...body,
      ...(!ticket.success && { ticketId: ticketId ?? null }),
      ...(!callFields.dryRun.safeParse(dryRun).success && { dryRun }),
    },
  };
}

/** Some clients make a number of an id that consists of digits. */
function withTextId(args: unknown): unknown {
  const { data } = numericId.safeParse(args);
  return data && args instanceof Object ? { ...args, ticketId: String(data.ticketId) } : args;
}
const numericId = z.object({ ticketId: z.int().check(z.nonnegative()) });

/**
 * The schema of the arguments, with few keywords: some clients refuse a tool with a format, or with null as an
 * alternative, and all pay for its tokens. The error of a call tells more.
 */
export function inputSchemaOf({ input }: Tool): { type: 'object' } {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override: ({ jsonSchema }) => {
      const [value, other] = jsonSchema.anyOf ?? [];
      if (other?.type === 'null') {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, { ...value, ...jsonSchema });
      }
      delete jsonSchema.pattern;
      delete jsonSchema.format;
    },
  });
  return { ...schema, type: 'object' };
}
