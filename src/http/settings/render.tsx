import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { SettingsEnv } from '../../env.ts';
import { Layout } from './pages/layout.tsx';

/** Answers with a page of the administrator's organization. */
export function render(c: Context<SettingsEnv>, title: string, content: Child, status: ContentfulStatusCode = 200) {
  const administrator = c.get('administrator');
  const settings = c.get('settings');
  const head = { title, administrator, path: c.req.path, signOutPath: settings.signIn?.signOutPath };
  return c.html(html`<!doctype html>${<Layout {...head}>{content}</Layout>}`, status);
}

/** Answers with a page that belongs to no organization. */
export function renderAlone(c: Context, title: string, content: Child, status: ContentfulStatusCode) {
  return c.html(html`<!doctype html>${<Layout title={title}>{content}</Layout>}`, status);
}
