import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { docsPages } from '../support/recipes.ts';
import { sharedServer } from '../support/shared.ts';

// The static files as wrangler serves them, beside the Worker.

const PAGES = docsPages();
const DOCUMENTS = ['/api/v1/openapi.json', '/psa/openapi.json'];

const { url } = await sharedServer();

const get = (path: string) => fetch(url + path, { redirect: 'manual' });

// Every response of the Worker has a request id.
test('pages, documents and files are served without the Worker', async () => {
  const files = (await readdir('build/static', { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.html') && !entry.name.startsWith('_'))
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .replace(/^build.static/, '')
        .replaceAll('\\', '/'),
    );
  expect(files).toEqual(expect.arrayContaining([...DOCUMENTS, '/docs/recipes/n8n.json', '/docs/psa/receiver.py']));
  const answers = await Promise.all(
    [...PAGES, ...files].map(async (path) => {
      const { status, headers } = await get(path);
      return [path, status, headers.get('Cache-Control'), headers.get('X-Request-Id')];
    }),
  );
  const isHashed = (path: string) => /\/pages\.[0-9a-f]{8}\.(css|js)$/.test(path);
  expect(files.filter(isHashed)).toHaveLength(2);
  expect(answers).toEqual(
    [...PAGES, ...files].map((path) => [
      path,
      200,
      isHashed(path) ? 'public, max-age=31536000, immutable' : 'public, max-age=300',
      null,
    ]),
  );
  const { headers } = await get('/api/v1/ping');
  expect(headers.get('X-Request-Id')).not.toBeNull();
  const page = await get('/docs');
  expect(page.headers.get('Strict-Transport-Security')).toBe(headers.get('Strict-Transport-Security'));
});

/** Requests a page as a browser does that navigates to it. `fetch` would send another Sec-Fetch-Mode. */
async function navigate(path: string): Promise<{ status: number | undefined; requestId: unknown; body: string }> {
  const sent = request(url + path, { headers: { 'Sec-Fetch-Mode': 'navigate', Accept: 'text/html' } }).end();
  const [response] = await once(sent, 'response');
  if (!(response instanceof IncomingMessage)) throw new Error('no response');
  const { statusCode, headers } = response;
  return { status: statusCode, requestId: headers['x-request-id'], body: await text(response) };
}

test('a browser that navigates to an address of the Worker reaches the Worker', async () => {
  const paths = ['/settings', '/nothing', '/docs/nothing', '/api/v1/ping'];
  const [settings, ...answers] = await Promise.all(paths.map(navigate));
  // To the local page for signing in.
  expect(settings?.status).toBe(303);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 401]);
  for (const { requestId } of answers) expect(requestId).toBeDefined();
  const page = await readFile('build/static/404.html', 'utf8');
  expect(answers[0]?.body).toBe(page.replace('>this address<', '>/nothing<'));
});

test('a slash at the end leads to the page without it, and never to another host', async () => {
  const answers = await Promise.all(
    ['/docs/', '/docs/recipes/n8n/', '//evil.example/', '/docs//evil.example/'].map(get),
  );
  expect(answers.map(({ status, headers }) => [status, headers.get('Location')])).toEqual([
    [307, '/docs'],
    [307, '/docs/recipes/n8n'],
    [404, null],
    [404, null],
  ]);
});
