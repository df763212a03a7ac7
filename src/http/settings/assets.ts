/// <reference path="./assets/text.d.ts" />
import { Hono } from 'hono';
import type { AppEnv } from '../../env.ts';
import css from './assets/settings.css.txt';
import script from './assets/settings.js.txt';

/** They change with a deployment only, and a browser asks again after ten minutes. */
const CACHED = { 'Cache-Control': 'public, max-age=600' };

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5fa8"/><circle cx="12" cy="16" r="5" fill="none" stroke="#fff" stroke-width="3"/><path d="M17 16h9m-3 0v5" fill="none" stroke="#fff" stroke-width="3"/></svg>`;

/** Stylesheet, script and icon of the settings area. They stand beside it, for any name below it may be an organization's. */
export const settingsAssets = new Hono<AppEnv>()
  .get('/settings.css', (c) => c.body(css, 200, { ...CACHED, 'Content-Type': 'text/css; charset=utf-8' }))
  .get('/settings.js', (c) => c.body(script, 200, { ...CACHED, 'Content-Type': 'text/javascript; charset=utf-8' }))
  .get('/settings.svg', (c) => c.body(ICON, 200, { ...CACHED, 'Content-Type': 'image/svg+xml' }));
