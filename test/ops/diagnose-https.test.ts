import { expect, test } from 'vitest';
import { diagnose } from '../../src/ops/diagnose.ts';
import { makeApi } from '../support/world.ts';

/** What the doctor says of plain HTTP that is answered like this. */
async function findHttps(answer: () => Response | Promise<Response>) {
  const send: typeof fetch = async (input) => {
    expect(String(input)).toBe('http://tickets.example/api/v1/ping');
    return answer();
  };
  const { value } = await diagnose({ url: new URL('https://tickets.example'), send }).next();
  return value;
}

const refusal = () => makeApi({ origin: 'http://tickets.example' }).send('/api/v1/ping');

test.each<[string, () => Response | Promise<Response>, string]>([
  ['the refusal of the service', refusal, 'plain http is refused by the service'],
  [
    'a redirect to https',
    () => Response.redirect('https://tickets.example/api/v1/ping', 301),
    'plain http is redirected to https',
  ],
  ['no response', () => Promise.reject(new TypeError('fetch failed')), 'no response to plain http'],
])('the doctor accepts %s', async (_, answer, says) => {
  expect(await findHttps(answer)).toMatchObject({ check: 'https', ok: true, says });
});

test.each<[string, () => Response | Promise<Response>]>([
  ['a redirect to another host', () => Response.redirect('https://other.example/', 301)],
  ['a 403 of something else', () => new Response('<html>', { status: 403 })],
  [
    'the words of the service, but not its headers',
    async () => new Response(await (await refusal()).text(), { status: 403 }),
  ],
  [
    'another 403 of the service',
    async () =>
      Response.json({ code: 'psa_not_included', detail: 'x' }, { status: 403, headers: (await refusal()).headers }),
  ],
  ['an answer of an older release', () => makeApi().send('/api/v1/ping')],
])('the doctor does not accept %s', async (_, answer) => {
  expect(await findHttps(answer)).toMatchObject({ ok: false, says: expect.stringContaining('Always Use HTTPS') });
});
