import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { AdminEnv, AppEnv } from '../context.ts';
import { Layout } from './pages/layout.tsx';

/** Responds with a page, with the organization's header if the path names an organization. */
export function render<E extends AdminEnv | AppEnv>(
  c: Context<E>,
  title: string,
  content: Child,
  status: ContentfulStatusCode = 200,
) {
  const administrator = c.get('administrator');
  const { signIn } = c.get('config');
  const head = { title, administrator, path: c.req.path, signOutPath: signIn?.signOutPath };
  return c.html(html`<!doctype html>${<Layout {...head}>{content}</Layout>}`, status);
}
