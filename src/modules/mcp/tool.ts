import * as z from 'zod';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { fieldErrors, ruleError } from '../../domain/fields.ts';
import { checkIdempotencyKey } from '../../domain/idempotency-key.ts';
import type { ReplayFields } from '../../domain/response-shapes.ts';
import { type ProblemJson, type ToolResult, type Written, writtenResult } from './tool-result.ts';

const ticketRule = 'the id of a ticket: a string of 1 to 64 letters, digits and ._~-';

export const targetFields = {
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
};
type Target = keyof typeof targetFields;

/** What a call asks for, or what is wrong with its arguments. */
type ParsedCall =
  | { ok: true; ticketId: string; idempotencyKey: string; body: object }
  | { ok: false; problem: Omit<ProblemJson, 'requestId'> };

/** An entry in `tools/list`, and its translation into a request to the API. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodType;
  parse: (args: unknown, keyPrefix: string) => ParsedCall;
  /** The result for a response to the request: a record, written now or before. */
  resultOf: (response: Response, ticketId: string) => Promise<ToolResult>;
}

interface ToolDescription<Input extends z.ZodType, Response> extends Omit<Tool, 'parse' | 'resultOf'> {
  input: Input;
  show: (response: Response, ticketId: string) => Written;
}

/** `Shown` is the response of the API to a write. */
export const makeTool = <Input extends z.ZodType<Record<Target, string>>, Shown extends ReplayFields>({
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
    const { ticketId, idempotencyKey, ...body } = parsed.data;
    const checked = checkIdempotencyKey(idempotencyKey, keyPrefix);
    if (checked.ok) return { ok: true, ticketId, idempotencyKey, body };
    const detail = `idempotencyKey ${checked.rule}; ${checked.remedy}.`;
    return { ok: false, problem: { code: 'invalid_idempotency_key', detail } };
  },
  resultOf: async (response, ticketId) => {
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

/** The schema of the arguments. Patterns cost tokens in every conversation, and the error of a call tells more. */
export function inputSchemaOf({ input }: Tool): { type: 'object' } {
  const schema: object = z.toJSONSchema(input, {
    io: 'input',
    override: ({ jsonSchema }) => {
      delete jsonSchema.pattern;
    },
  });
  return { ...schema, type: 'object' };
}
