import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { signingExample } from '../../src/docs/psa-page.tsx';

test.each([
  `whsec_${btoa('the secret of this test, 32 byte')}`,
  // Bytes whose hexadecimal form has zeros, and more than one line of a dump.
  `whsec_${btoa(String.fromCharCode(...Array.from({ length: 64 }, (_, index) => index)))}`,
])('the shell commands of /docs/psa send a message that the published library accepts (%s)', async (secret) => {
  const received: { path: string | undefined; message: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = await text(request);
    received.push({ path: request.url, message: new Webhook(secret).verify(body, headers) });
    response.end('received');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  try {
    const script = signingExample(`http://127.0.0.1:${port}`);
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      env: { ...process.env, PSA_SECRET: secret },
      timeout: 20_000,
    });
    expect(stdout).toMatch(/received$/);
    expect(received).toEqual([
      { path: '/psa', message: { type: 'work.changes', data: { organization: 'northwind', cursor: null } } },
    ]);
  } finally {
    server.close();
  }
});
