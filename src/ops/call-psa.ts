import * as z from 'zod';
import { CommandFailure } from './failures.ts';
import { parseServiceAddress, secretsIn } from './input.ts';
import { jsonOf, NoResponse, postSigned } from './probe.ts';

const failureShape = z.object({ error: z.object({ code: z.string(), detail: z.string() }) });

/** Returns the status of the result. @throws UsageError, CommandFailure */
export async function callPsa(command: string, address: string, type: string, data: object): Promise<string> {
  const secrets = secretsIn('PSA_SECRET', command);
  const { origin } = parseServiceAddress(address);
  const body = JSON.stringify({ type, data });
  const given = await postSigned(fetch, `${origin}/psa`, { secrets, at: Date.now(), body }).catch((err: unknown) => {
    throw err instanceof NoResponse ? new CommandFailure(`No response: ${err.message}`) : err;
  });
  const { data: result } = z.object({ value: z.object({ status: z.string() }) }).safeParse(jsonOf(given.body));
  if (result) return result.value.status;
  const { data: failure } = failureShape.safeParse(jsonOf(given.body));
  if (failure) throw new CommandFailure(failure.error.detail);
  if (given.status === 401)
    throw new CommandFailure(
      '401: PSA_SECRET is not one of the deployment, or the clocks differ by more than 5 minutes.',
    );
  if (given.status === 404)
    throw new CommandFailure('404: the deployment has no PSA_SECRET. Set it: npx wrangler secret put PSA_SECRET');
  throw new CommandFailure(`The deployment returned ${given.status}.`);
}
