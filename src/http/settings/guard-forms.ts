import type { Context, Next } from 'hono';
import type { AppEnv } from '../hono-env.ts';
import { readBody } from '../middleware/body.ts';
import { readForm, tooLarge } from './forms.ts';
import { PageProblem } from './page-problem.ts';

const MAX_FORM_BYTES = 64 * 1024;

/** Above the number of keys that an organization can select. */
const MAX_FORM_FIELDS = 2_000;

/** Requires every POST to be a form, every method but GET and HEAD to come from this origin, and a body below the limits of bytes and fields. */
export const guardForms = [requireForm, requireSameOrigin, limitForm] as const;

/** The media type of a form, with or without parameters (RFC 9110 §8.3.1). */
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

async function requireForm(c: Context<AppEnv>, next: Next): Promise<void> {
  if (c.req.method === 'POST' && !FORM_TYPE.test(c.req.header('Content-Type') ?? '')) {
    throw new PageProblem(415, 'Unsupported format', 'Open the page and submit its form. No other format is accepted.');
  }
  await next();
}

/** Refuses a request that a page of another site may have caused. */
async function requireSameOrigin(c: Context<AppEnv>, next: Next): Promise<void> {
  const { method } = c.req;
  const isOwn =
    c.req.header('Origin') === new URL(c.req.url).origin || c.req.header('Sec-Fetch-Site') === 'same-origin';
  if (method !== 'GET' && method !== 'HEAD' && !isOwn) {
    throw new PageProblem(
      403,
      'Form not accepted',
      'The form was not submitted from a page of this site, so nothing was changed. Open the page and submit the form there.',
    );
  }
  await next();
}

async function limitForm(c: Context<AppEnv>, next: Next): Promise<void> {
  await readBody(c, MAX_FORM_BYTES, {
    tooLarge,
    broken: (why) => new PageProblem(400, 'Incomplete form', `The form ${why}. Nothing was changed. Submit it again.`),
  });
  if ((await readForm(c)).size > MAX_FORM_FIELDS) throw tooLarge();
  await next();
}
