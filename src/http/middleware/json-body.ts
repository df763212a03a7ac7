import { zValidator } from '@hono/zod-validator';
import type { MiddlewareHandler } from 'hono';
import type * as z from 'zod';
import { echo, fieldErrors } from '../../domain/fields.ts';
import { toHex } from '../../lib/bytes.ts';
import type { AppEnv } from '../context.ts';
import { Problem } from '../problems.ts';
import { readBody } from './read-body.ts';

/** Enough for 32,000 characters of any script, escaped in any way. */
export const MAX_BODY_BYTES = 512 * 1024;

/** Checks media type, size, encoding, JSON and shape, in this order, and reports all errors of the shape at once. Then `c.req.valid('json')` has the body. */
export const jsonBody = <Schema extends z.ZodType>(schema: Schema) =>
  [
    requireJson(),
    readBody(MAX_BODY_BYTES, {
      tooLarge: () =>
        new Problem('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes (512 KiB); shorten the text.`),
      broken: (why) => new Problem('malformed_json', `The body ${why}; send the request again, whole.`),
    }),
    requireUtf8(),
    zValidator('json', schema, (result) => {
      if (result.success) return;
      const errors = fieldErrors(result.error);
      const others = errors.length - 1;
      const more = others === 0 ? '' : ` (${others} more in errors)`;
      throw new Problem('validation_failed', `${errors[0]?.detail}${more}.`, { members: { errors } });
    }),
  ] as const;

function requireJson(): MiddlewareHandler<AppEnv> {
  return async function requireJson(c, next) {
    const [mediaType = '', ...parameters] = (c.req.header('Content-Type') ?? '')
      .split(';')
      .map((part) => part.trim().toLowerCase());
    if (mediaType !== 'application/json') {
      throw new Problem(
        'unsupported_media_type',
        `Content-Type ${mediaType === '' ? 'is missing' : `was ${echo(mediaType)}`}; send application/json.`,
      );
    }
    for (const parameter of parameters) {
      const [name, charset = ''] = parameter.split('=').map((part) => part.trim().replaceAll('"', ''));
      if (name === 'charset' && charset !== 'utf-8' && charset !== 'utf8') {
        throw new Problem('unsupported_media_type', `Content-Type names the charset ${echo(charset)}; send UTF-8.`);
      }
    }
    const encoding = c.req.header('Content-Encoding')?.trim().toLowerCase() ?? 'identity';
    if (encoding !== 'identity')
      throw new Problem(
        'unsupported_media_type',
        `Content-Encoding was ${echo(encoding)}; send the body uncompressed.`,
      );
    await next();
  };
}

/** Refuses bytes that are not UTF-8: a lenient decoder would silently replace them. */
function requireUtf8(): MiddlewareHandler<AppEnv> {
  return async function requireUtf8(c, next) {
    const bytes = await c.req.arrayBuffer();
    const wide = wideEncoding(bytes);
    if (wide)
      throw new Problem('invalid_encoding', `The body is ${wide}; encode the JSON text as UTF-8 before you send it.`);
    try {
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
    } catch (err) {
      if (!(err instanceof TypeError)) throw err;
      throw new Problem(
        'invalid_encoding',
        'The body holds bytes that are not UTF-8; encode the JSON text as UTF-8 before you send it.',
      );
    }
    await next();
  };
}

/** What the first four bytes are, in hexadecimal: a byte order mark, or NULs where RFC 4627 §3 has them. */
const WIDE_ENCODINGS = [
  ['UTF-32', /^(?:0000feff|fffe0000|000000(?!00)..|(?!00)..000000)/],
  ['UTF-16 ("Unicode" in Windows)', /^(?:feff|fffe|00(?!00)..00(?!00)..|(?!00)..00(?!00)..00)/],
] as const;

/** Tells the encodings in which automations of Windows send JSON: without a byte order mark they are valid UTF-8 full of NULs. */
function wideEncoding(bytes: ArrayBuffer): string | undefined {
  const start = toHex(new Uint8Array(bytes.slice(0, 4)));
  return WIDE_ENCODINGS.find(([, pattern]) => pattern.test(start))?.[0];
}
