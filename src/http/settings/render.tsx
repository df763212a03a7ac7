import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ObservedEnv, SettingsEnv } from '../../env.ts';
import { Layout } from './pages/layout.tsx';

/** Answers with a page, in the frame of the administrator's organization if the address names one. */
export function render<E extends SettingsEnv | ObservedEnv>(
  c: Context<E>,
  title: string,
  content: Child,
  status: ContentfulStatusCode = 200,
) {
  const administrator = c.get('administrator');
  const settings = c.get('settings');
  const head = { title, administrator, path: c.req.path, signOutPath: settings.signIn?.signOutPath };
  return c.html(html`<!doctype html>${<Layout {...head}>{content}</Layout>}`, status);
}
