import * as z from 'zod';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { fieldErrors, ruleError } from '../../domain/fields.ts';
import { checkIdempotencyKey } from '../../domain/idempotency-key.ts';
import { validationFailed } from '../../http/middleware/json-body.ts';
import { Problem } from '../../http/problems.ts';
import type { WriteContext } from '../../services/service-context.ts';
import type { WriteTarget } from '../../services/work/write-once.ts';
import { type ToolReply, type Written, writtenReply } from './tool-reply.ts';

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

/** An entry in `tools/list`, and its call. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodType;
  /** @throws Problem `validation_failed`, `invalid_idempotency_key`; what the service throws */
  call: (ctx: WriteContext, keyPrefix: string, args: unknown) => Promise<ToolReply>;
}

interface ToolDescription<Input extends z.ZodType> extends Omit<Tool, 'call'> {
  input: Input;
  write: (
    ctx: WriteContext,
    target: WriteTarget,
    body: Omit<z.output<Input>, Target>,
  ) => Promise<Written<{ id: string; ticketId: string }>>;
}

export const makeTool = <Input extends z.ZodType<Record<Target, string>>>({
  write,
  ...tool
}: ToolDescription<Input>): Tool => ({
  ...tool,
  call: async (ctx, keyPrefix, args = {}) => {
    const parsed = tool.input.safeParse(withTextId(args));
    if (!parsed.success) throw validationFailed(fieldErrors(parsed.error));
    const { ticketId, idempotencyKey, ...body } = parsed.data;
    const checked = checkIdempotencyKey(idempotencyKey, keyPrefix);
    if (!checked.ok) throw new Problem('invalid_idempotency_key', `idempotencyKey ${checked.rule}; ${checked.remedy}.`);
    const target = { ticketId, idempotencyKey: checked.key };
    return writtenReply(target, await write(ctx, target, body));
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
