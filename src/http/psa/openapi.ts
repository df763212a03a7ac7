import type { Handler } from 'hono';
import type { PsaEnv } from '../context.ts';
export function psaOpenapi(): Handler<PsaEnv> {
  return (c) => c.json({});
}
