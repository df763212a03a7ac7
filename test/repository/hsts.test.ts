import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

test('static files have the same HSTS as the responses of the Worker', async () => {
  const worker = await readFile('src/http/middleware/request-context.ts', 'utf8');
  const [, value] = /STRICT_TRANSPORT_SECURITY = '([^']+)'/.exec(worker) ?? [];
  const [, all] = /^\/\*\n((?: {2}.+\n)+)/m.exec(await readFile('src/assets/_headers', 'utf8')) ?? [];
  expect(all).toContain(`  Strict-Transport-Security: ${value}\n`);
});
