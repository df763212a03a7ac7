import { zValidator } from '@hono/zod-validator';
import type { HonoRequest, MiddlewareHandler } from 'hono';
import type * as z from 'zod';
import { holdsKey } from '../domain/api-key.ts';
import { echo, fieldErrors } from '../domain/fields.ts';
import { parseIdempotencyKey } from '../domain/idempotency-key.ts';
import type { AppEnv, RequestScope } from '../env.ts';
import type { WriteTarget } from '../services/work/write-once.ts';
import { Problem } from './problem.ts';
import { readBody } from './middleware/read-body.ts';

/** Enough for 32,000 characters of any script, escaped in any way. */
export const MAX_BODY_BYTES = 512 * 1024;

/** Media type, size, encoding, JSON, shape: in this order, and all of a shape's errors at once. Behind it stands `c.req.valid('json')`. */
export const jsonBody = <Schema extends z.ZodType>(schema: Schema) =>
  [
    requireJson(),
    readBody(MAX_BODY_BYTES, {
      tooLarge: () => new Problem('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes (512 KiB); shorten the text.`),
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

/** The ticket and Idempotency-Key that a write is addressed to. */
export function writeTarget(c: Pick<RequestScope, 'get'> & { req: HonoRequest<'/:ticketId'> }): WriteTarget {
  const parsed = parseIdempotencyKey(c.req.header('Idempotency-Key'));
  if (!parsed.ok) throw invalidIdempotencyKey(parsed.rule, 'send one value of 1 to 255 visible ASCII characters');
  const { key } = parsed;
  // It would stand in the audit log, and for ever.
  if (key !== undefined && holdsKey(key, c.get('settings').keyPrefix)) {
    throw invalidIdempotencyKey('holds an API key', 'send what names the event, and the API key in Authorization alone');
  }
  return { ticketId: c.req.param('ticketId'), idempotencyKey: key };
}

const invalidIdempotencyKey = (rule: string, remedy: string) =>
  new Problem('invalid_idempotency_key', `Idempotency-Key ${rule}; ${remedy}, or leave the header out.`);

function requireJson(): MiddlewareHandler<AppEnv> {
  return async function requireJson(c, next) {
    const [mediaType = '', ...parameters] = (c.req.header('Content-Type') ?? '').split(';').map((part) => part.trim().toLowerCase());
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
      throw new Problem('unsupported_media_type', `Content-Encoding was ${echo(encoding)}; send the body uncompressed.`);
    await next();
  };
}

/** Refuses bytes that are not UTF-8; a text decoder would quietly put replacement characters in their place. */
function requireUtf8(): MiddlewareHandler<AppEnv> {
  return async function requireUtf8(c, next) {
    const bytes = await c.req.arrayBuffer();
    try {
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
    } catch (err) {
      if (!(err instanceof TypeError)) throw err;
      throw new Problem('invalid_encoding', 'The body holds bytes that are not UTF-8; encode the JSON text as UTF-8 before you send it.');
    }
    await next();
  };
}
