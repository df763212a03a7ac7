import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { AdminEnv, AppEnv } from '../context.ts';
import { moduleBanners } from './page-context.ts';
import { Layout, type PageHead } from './pages/layout.tsx';

/**
 * Responds with a page. If the path names an organization, the page has its header, and the banners
 * of modules.
 */
export async function render<E extends AdminEnv | AppEnv>(
  c: Context<E>,
  title: string,
  content: Child,
  { status = 200, ...head }: PageHead & { status?: ContentfulStatusCode } = {},
): Promise<Response> {
  const administrator = c.get('administrator');
  const { signIn, settingsLinks } = c.get('config');
  const now = c.get('now')();
  const banners = moduleBanners(c);
  const signOutPath = signIn?.signOutPath;
  const page = { ...head, title, administrator, path: c.req.path, signOutPath, settingsLinks, banners, now };
  return c.html(<Layout {...page}>{content}</Layout>, status);
}
