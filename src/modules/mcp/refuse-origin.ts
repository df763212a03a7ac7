import type { Context, Next } from 'hono';
import { echo } from '../../domain/fields.ts';
import { withoutKeys } from '../../domain/pasted-keys.ts';
import type { AppEnv } from '../../http/hono-env.ts';
import { invalidRequest } from './message.ts';

/** Only this much of an Origin is searched for keys; the response repeats less. */
const MAX_SEARCHED_LENGTH = 1_000;

/** MCP demands this check: a page must not reach the endpoint through a browser (DNS rebinding). Programs send none. */
export async function refuseOrigin(c: Context<AppEnv>, next: Next) {
  const origin = c.req.header('Origin');
  if (origin === undefined) return next();
  const sent = JSON.stringify(echo(withoutKeys(origin.slice(0, MAX_SEARCHED_LENGTH), c.get('config').keyPrefix)));
  return invalidRequest(
    c,
    403,
    'origin_not_allowed',
    `Origin was ${sent}; call this address from a program that sends no Origin.`,
  );
}
