import { Hono } from 'hono';
import { securityTxt } from '../domain/security-contact.ts';
import type { AppEnv } from './hono-env.ts';
import { requireHost } from './middleware/guard.ts';

/** What other programs look for at fixed paths (RFC 8615): whom to tell of a vulnerability. */
export const wellKnown = new Hono<AppEnv>().use(requireHost()).get('/security.txt', (c) => {
  const { securityContact } = c.get('config');
  if (!securityContact) return c.notFound();
  const text = securityTxt(securityContact, `${new URL(c.req.url).origin}/.well-known/security.txt`);
  return c.body(text, 200, { 'Content-Type': 'text/plain; charset=utf-8' });
});
