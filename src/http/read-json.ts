import { malformedJson } from './answer-error.ts';
import type { AppEnv, ContextOf } from './context.ts';

/** Parses the body, which was read before. @throws Problem `malformed_json` */
export async function readJson(c: Pick<ContextOf<AppEnv>, 'req'>): Promise<unknown> {
  const body = await c.req.text();
  try {
    return JSON.parse(body);
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    throw malformedJson(body);
  }
}
