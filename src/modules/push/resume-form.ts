import { Hono } from 'hono';
import { type AdminEnv, adminContext } from '../../http/hono-env.ts';
import { pageContext } from '../../http/settings/page-context.ts';
import { byAdministrator } from '../../services/audit/write-with-audit.ts';

export const resumeForm = new Hono<AdminEnv>().post('/push/resume', async (c) => {
  const ctx = adminContext(c);
  await ctx.pushControl?.resume(ctx, byAdministrator(ctx));
  return c.redirect(`${pageContext(c).base}/keys`, 303);
});
