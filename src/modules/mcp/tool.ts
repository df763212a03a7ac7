import * as z from 'zod';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { fieldErrors, ruleError, unquoted } from '../../domain/fields.ts';
import { checkIdempotencyKey } from '../../domain/idempotency-key.ts';
import type { DryRunResult, ReplayFields } from '../../domain/response-shapes.ts';
import { dryRunResult, type ProblemJson, type ToolResult, type Written, writtenResult } from './tool-result.ts';

const ticketRule = 'the id of a ticket: a string of 1 to 64 letters, digits and ._~-';

/** The arguments of every tool that are not in the body of its request. */
export const callFields = {
  ticketId: z
    .string({ error: ruleError(ticketRule) })
    .regex(DIRECTORY_ID, { error: ruleError(ticketRule) })
    .meta({
      description:
        'The id of the ticket, as a string, such as "1001". Use only an id that you were given for this task; never guess or change it. If you are not sure, ask.',
    }),
  idempotencyKey: z.string({ error: ruleError('a string that identifies the event') }).meta({
    description:
      'Identifies the event that this call reports: `<workflow>:<event id>`, such as `triage:evt-20418`; ASCII without spaces. If you were not given an event id, ask for one: do not use a random value, the time, or the ticket id alone. Use the same value in every retry of this call, even after a timeout or with other words: a second call with it never writes a second record.',
  }),
  dryRun: z
    .boolean({
      error: ruleError(
        'true or false, or leave the field out',
        unquoted((value) => typeof value === 'boolean'),
      ),
    })
    .nullish()
    .meta({ description: 'With true, the call is checked and nothing is written. The idempotencyKey stays unused.' }),
};
type CallFields = z.output<z.ZodObject<typeof callFields>>;

/** What a call asks for, or what is wrong with its arguments. */
type ParsedCall =
  | { ok: true; ticketId: string; idempotencyKey: string; dryRun: boolean; body: object }
  | { ok: false; problem: Omit<ProblemJson, 'requestId'> };

/** An entry in `tools/list`, and its translation into a request to the API. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodType;
  parse: (args: unknown, keyPrefix: string) => ParsedCall;
  /** The result for a response to the request: a record, written now or before, or that the request was accepted. */
  resultOf: (response: Response, call: { ticketId: string; dryRun: boolean }) => Promise<ToolResult>;
}

interface ToolDescription<Input extends z.ZodType, Response> extends Omit<Tool, 'parse' | 'resultOf'> {
  input: Input;
  show: (response: Response, ticketId: string) => Written;
}

/** `Shown` is the response of the API to a write. */
export const makeTool = <Input extends z.ZodType<CallFields>, Shown extends ReplayFields>({
  show,
  ...tool
}: ToolDescription<Input, Shown>): Tool => ({
  ...tool,
  parse: (args = {}, keyPrefix) => {
    const parsed = tool.input.safeParse(withTextId(args));
    if (!parsed.success) {
      const errors = fieldErrors(parsed.error);
      return { ok: false, problem: { code: 'validation_failed', detail: '', errors } };
    }
    const { ticketId, idempotencyKey, dryRun, ...body } = parsed.data;
    const checked = checkIdempotencyKey(idempotencyKey, keyPrefix);
    if (checked.ok) return { ok: true, ticketId, idempotencyKey, dryRun: dryRun === true, body };
    const detail = `idempotencyKey ${checked.rule}; ${checked.remedy}.`;
    return { ok: false, problem: { code: 'invalid_idempotency_key', detail } };
  },
  resultOf: async (response, { ticketId, dryRun }) => {
    if (dryRun) return dryRunResult(await response.json<DryRunResult>());
    const shown = await response.json<Shown>();
    return writtenResult({ ticketId }, show(shown, ticketId), shown);
  },
});

/** Some clients make a number of an id that consists of digits. */
function withTextId(args: unknown): unknown {
  const { data } = numericId.safeParse(args);
  return data && args instanceof Object ? { ...args, ticketId: String(data.ticketId) } : args;
}
const numericId = z.object({ ticketId: z.int().nonnegative() });

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
