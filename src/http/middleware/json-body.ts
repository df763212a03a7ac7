import { zValidator } from '@hono/zod-validator';
import type { Context, Next } from 'hono';
import type * as z from 'zod';
import { echo, type FieldError, fieldErrors } from '../../domain/fields.ts';
import { malformedJson } from '../error-response.ts';
import type { AppEnv, ContextOf } from '../hono-env.ts';
import { Problem } from '../problems.ts';
import { readBody } from './read-body.ts';

/** Enough for 32,000 characters of any script with any escaping. */
const MAX_BODY_BYTES = 512 * 1024;

const readText = readBody(MAX_BODY_BYTES, {
  tooLarge: bodyTooLarge,
  broken: (why) => new Problem('malformed_json', `The body ${why}; send the complete request again.`),
});

/** Reads the body: checks media type, size and encoding, in this order. @throws Problem */
export async function readJsonText(c: Context<AppEnv>): Promise<void> {
  requireJson(c);
  await readText(c);
  await requireUtf8(c);
}

/** Checks media type, size, encoding, JSON and shape, in this order. The body is `c.req.valid('json')`. */
export const jsonBody = <Schema extends z.ZodType>(schema: Schema) =>
  [
    async function jsonBody(c: Context<AppEnv>, next: Next) {
      await readJsonText(c);
      await next();
    },
    zValidator('json', schema, (result) => {
      if (!result.success) throw validationFailed(fieldErrors(result.error));
    }),
  ] as const;

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

/** Refuses bodies that are not declared as JSON in UTF-8. @throws Problem */
export function requireJson(c: Pick<ContextOf<AppEnv>, 'req'>): void {
  const [mediaType = '', ...parameters] = (c.req.header('Content-Type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  if (mediaType !== 'application/json') throw unsupportedMediaType(mediaType);
  for (const parameter of parameters) {
    const [name, charset = ''] = parameter.split('=').map((part) => part.trim().replaceAll('"', ''));
    if (name === 'charset' && charset !== 'utf-8' && charset !== 'utf8') {
      throw new Problem('unsupported_media_type', `Content-Type has the charset ${echo(charset)}; send UTF-8.`);
    }
  }
  const encoding = c.req.header('Content-Encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    throw new Problem('unsupported_media_type', `Content-Encoding was ${echo(encoding)}; send the body uncompressed.`);
}

/** Refuses bytes that are not UTF-8: a lenient decoder would replace them silently. @throws Problem */
export async function requireUtf8(c: Pick<ContextOf<AppEnv>, 'req'>): Promise<void> {
  const bytes = await c.req.arrayBuffer();
  const wide = wideEncoding(bytes);
  if (wide)
    throw new Problem('invalid_encoding', `The body is ${wide}; encode the JSON text as UTF-8 before you send it.`);
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
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

/** Patterns of the first four bytes, in hexadecimal: a byte order mark, or NULs as in RFC 4627 §3. */
const WIDE_ENCODINGS = [
  ['UTF-32', /^(?:0000feff|fffe0000|000000(?!00)..|(?!00)..000000)/],
  ['UTF-16 ("Unicode" in Windows)', /^(?:feff|fffe|00(?!00)..00(?!00)..|(?!00)..00(?!00)..00)/],
] as const;

/** The wide encoding of a body, if it has one: without a byte order mark it is valid UTF-8 full of NULs. */
function wideEncoding(bytes: ArrayBuffer): string | undefined {
  const start = new Uint8Array(bytes.slice(0, 4)).toHex();
  return WIDE_ENCODINGS.find(([, pattern]) => pattern.test(start))?.[0];
}
