import { zValidator } from '@hono/zod-validator';
import type { Context, Next } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type * as z from 'zod/mini';
import { echo, type FieldError, fieldErrors } from '../../domain/fields.ts';
import { DeadlineExceeded, type Deadlines, withDeadline } from '../../lib/deadline.ts';
import type { AppEnv, ContextOf } from '../hono-env.ts';
import { malformedJson, Problem } from '../problems.ts';

/** Enough for 32,000 characters of any script with any escaping. */
const MAX_BODY_BYTES = 512 * 1024;

const BODY_ERRORS: BodyErrors = {
  tooLarge: bodyTooLarge,
  broken: (why) => new Problem('malformed_json', `The body ${why}; send the complete request again.`),
};

/** The limit of a JSON body, and its errors. */
export const JSON_BODY = [MAX_BODY_BYTES, BODY_ERRORS] as const;

/**
 * Receives the body for `validJson`: checks media type, size, encoding and JSON, in this order. Hono's validator takes
 * another media type as an empty object, decodes leniently, and does not say where JSON is malformed. @throws Problem
 */
export async function receiveJson(c: Context<AppEnv>, next: Next): Promise<void> {
  requireJson(c);
  await readBody(c, ...JSON_BODY);
  await readJson(c);
  await next();
}

/** The received body has this shape: the handler gets it by `c.req.valid('json')`. @throws Problem with all faults */
export const validJson = <Shape extends z.ZodMiniType>(shape: Shape) =>
  zValidator('json', shape, (result) => {
    if (!result.success) throw validationFailed(fieldErrors(result.error));
  });

/** The received body: checks encoding and JSON, in this order. The text stays in Hono's cache. @throws Problem */
export async function readJson({ req }: Pick<ContextOf<AppEnv>, 'req'>): Promise<unknown> {
  const body = decodeUtf8(await req.arrayBuffer());
  Object.assign(req.bodyCache, { text: Promise.resolve(body) });
  try {
    return JSON.parse(body);
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    throw malformedJson(body);
  }
}

/** The charsets of bodies that are UTF-8, of which ASCII is a part. */
const UTF_8 = ['utf-8', 'utf8', 'us-ascii'];

/** Refuses bodies that are not declared as JSON in UTF-8. @throws Problem */
export function requireJson(c: Pick<ContextOf<AppEnv>, 'req'>): void {
  const [mediaType = '', ...parameters] = (c.req.header('Content-Type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  if (mediaType !== 'application/json') throw unsupportedMediaType(mediaType);
  for (const parameter of parameters) {
    const [name, charset = ''] = parameter.split('=').map((part) => part.trim().replaceAll('"', ''));
    if (name === 'charset' && !UTF_8.includes(charset)) {
      const sent = charset === '' ? 'an empty charset' : `the charset ${echo(charset)}`;
      const remedy = 'encode the body as UTF-8, and send application/json without a charset';
      throw new Problem('unsupported_media_type', `Content-Type has ${sent}; ${remedy}.`);
    }
  }
  const encoding = c.req.header('Content-Encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    const remedy = 'remove this header, and send the body uncompressed';
    throw new Problem('unsupported_media_type', `Content-Encoding was ${echo(encoding) || 'empty'}; ${remedy}.`);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Refuses bytes that are not UTF-8: a lenient decoder would replace them silently. @throws Problem */
function decodeUtf8(bytes: ArrayBuffer): string {
  try {
    return utf8.decode(bytes);
  } catch (err) {
    if (!(err instanceof TypeError)) throw err;
    throw invalidEncoding();
  }
}

export function bodyTooLarge(): Problem {
  return new Problem('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes (512 KiB); shorten the text.`);
}

/** The media type of the body is not JSON; empty if the Content-Type is missing. */
export function unsupportedMediaType(mediaType: string): Problem {
  const sent = mediaType === '' ? 'is missing' : `was ${echo(mediaType)}`;
  return new Problem('unsupported_media_type', `Content-Type ${sent}; send application/json.`);
}

export function invalidEncoding(): Problem {
  return new Problem('invalid_encoding', 'The body contains bytes that are not UTF-8; encode the JSON text as UTF-8.');
}

/** The body breaks rules of its schema: `detail` is the first error, `errors` has all of them. */
export function validationFailed(errors: FieldError[]): Problem {
  const others = errors.length - 1;
  const more = others === 0 ? '' : ` (${others} more in errors)`;
  return new Problem('validation_failed', `${errors[0]?.detail}${more}.`, { members: { errors } });
}

const BODY_DEADLINE_MS = 20_000;

/** The errors for a body that cannot be read. `why` completes "The body …". */
export interface BodyErrors {
  tooLarge: () => Error;
  broken: (why: string) => Error;
}

/** As `receiveBody`. The time for receiving the body does not count against the request's deadline. */
export async function readBody(c: Context<AppEnv>, maxSize: number, errors: BodyErrors): Promise<void> {
  const startedAt = Date.now();
  try {
    await receiveBody(c, maxSize, errors, c.get('deadlines'));
  } finally {
    // Also if the body is refused: D1 may then have to check a cached key again.
    c.set('deadlineAt', c.get('deadlineAt') + Date.now() - startedAt);
  }
}

/**
 * Reads the whole body, at most `maxSize` bytes, before anything uses it; later reads come from Hono's cache. A caller
 * that disconnects or sends invalid chunks gets `broken`.
 */
export async function receiveBody(
  c: Context,
  maxSize: number,
  { tooLarge, broken }: BodyErrors,
  deadlines?: Deadlines,
): Promise<void> {
  const limit = bodyLimit({ maxSize, onError: () => new Response(null, { status: 413 }) });
  let isTooLarge = false;
  const read = limit(c, async () => {
    await c.req.arrayBuffer();
  });
  try {
    if (await withDeadline(read, BODY_DEADLINE_MS, deadlines)) isTooLarge = true;
  } catch (err) {
    throw broken(
      err instanceof DeadlineExceeded ? `did not arrive within ${BODY_DEADLINE_MS / 1_000} s` : 'was cut off',
    );
  }
  if (isTooLarge) throw tooLarge();
}
