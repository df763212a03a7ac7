import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { parseWebhookSecrets } from '../../../src/domain/webhook.ts';
import { diagnoseAlerts } from '../../../src/modules/alerts/diagnose-alerts.ts';
import { diagnosePsa } from '../../../src/modules/psa/diagnose-psa.ts';
import { checkReceiver, checkSamples } from '../../../src/modules/push/check-receiver.ts';
import type { Finding } from '../../../src/ops/probe.ts';
import { resultOf, work } from '../../support/psa-calls.ts';
import { psaContract } from '../../support/static-files.ts';
import { makeApi, makeWorld } from '../../support/world.ts';
import { makePsa, PSA_SECRET } from './support.ts';

const SECRETS = parseWebhookSecrets(PSA_SECRET);
const OTHERS = parseWebhookSecrets(`whsec_${btoa('the secret of someone else......')}`);

/** The failed checks, each as its name and what it says. */
async function failures(findings: AsyncIterable<Finding>): Promise<string[]> {
  const failed: string[] = [];
  for await (const { ok, check, says } of findings) if (!ok) failed.push(`${check}: ${says}`);
  return failed;
}

describe('the interface for the PSA', () => {
  const at =
    (api: ReturnType<typeof makeApi>): typeof fetch =>
    (url, init = {}) => {
      const headers = Object.fromEntries(new Headers(init.headers));
      return api.send(new URL(String(url)).pathname, { method: 'POST', body: init.body ?? null, headers });
    };

  test('the interface has no fault if the deployment has the secret', async () => {
    expect(await failures(diagnosePsa('https://api.example', SECRETS, at(makePsa().api)))).toEqual([]);
  });

  test('the number of records that the PSA refused is shown', async () => {
    const { organization, key, api } = await makeWorld();
    const { note } = await (await api.postNote(key)).json<{ note: { id: string } }>();
    resultOf(await work.report(organization, 'note', note.id, 'refused', 'The ticket is closed.'));
    const texts: string[] = [];
    for await (const { check, says: text } of diagnosePsa('https://api.example', SECRETS, at(makePsa().api)))
      if (check === '/psa with your secret') texts.push(text);
    expect(texts).toEqual([
      expect.stringMatching(/accepted; your PSA has refused \d+ records?, the first at \d{4}-.*Z$/),
    ]);
  });

  test('the interface is missing without a secret in the deployment', async () => {
    const found = await failures(diagnosePsa('https://api.example', SECRETS, at(makeApi())));
    expect(found).toEqual([expect.stringContaining('wrangler secret put PSA_SECRET')]);
  });

  test('another secret is refused', async () => {
    const found = await failures(diagnosePsa('https://api.example', OTHERS, at(makePsa().api)));
    expect(found).toEqual([expect.stringMatching(/^\/psa with your secret: 401: PSA_SECRET here is not one/)]);
  });

  test('a response from another service is recognized', async () => {
    const found = await failures(diagnosePsa('https://api.example', SECRETS, async () => new Response('ok')));
    expect(found).toEqual([expect.stringMatching(/^\/psa without a signature: 200 instead of 401/)]);
  });
});

describe('a receiver', () => {
  const url = 'https://psa.example/hook';
  /** A receiver that verifies as the published library does, unless `judge` says otherwise. */
  const receiver =
    ({ status = 204, isLenient = false, ignoresTime = false, hasEmptyKey = false } = {}): typeof fetch =>
    async (_, init = {}) => {
      const headers = Object.fromEntries(new Headers(init.headers));
      try {
        const body = String(init.body);
        const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000);
        const id = headers['webhook-id'] ?? '';
        const empty = createHmac('sha256', '').update(`${id}.${headers['webhook-timestamp']}.${body}`).digest('base64');
        const isForged = hasEmptyKey && headers['webhook-signature'] === `v1,${empty}`;
        const isSigned = new Webhook(PSA_SECRET).sign(id, sentAt, body) === headers['webhook-signature'];
        if (!isLenient && !isForged && !(ignoresTime && isSigned)) new Webhook(PSA_SECRET).verify(body, headers);
      } catch {
        return new Response(null, { status: 401 });
      }
      return new Response(null, { status, headers: { Location: 'https://psa.example/other' } });
    };

  test('a receiver that verifies messages has no fault', async () => {
    expect(await failures(checkReceiver(url, SECRETS, receiver()))).toEqual([]);
    expect(await failures(checkReceiver(url, SECRETS, receiver({ status: 200 })))).toEqual([]);
  });

  test.each([
    [
      { isLenient: true },
      [/forged event: accepted with 204/, /empty key: accepted with 204/, /old event: accepted with 204/],
    ],
    [{ hasEmptyKey: true }, [/empty key: accepted with 204: anyone .* Refuse to start with an empty secret/]],
    [{ ignoresTime: true }, [/old event: accepted with 204/]],
    [{ status: 307 }, [/signed test event: 307: a redirect/]],
    [{ status: 410 }, [/410: the receiver asks the push to stop/]],
    [{ status: 500 }, [/500: the receiver must return 2xx/]],
  ])('a receiver that behaves as %j is reported', async (behaviour, says) => {
    const found = await failures(checkReceiver(url, SECRETS, receiver(behaviour)));
    expect(found).toEqual(says.map((one) => expect.stringMatching(one)));
  });

  test('the receiver gets a sample of every kind of message, which agrees with the contract', async () => {
    const contract = await psaContract();
    const sent: {
      id: string;
      body: { type: string; data: { organization: string; changes?: { ticketId: string }[] } };
    }[] = [];
    const storing: typeof fetch = (address, init) => {
      const id = new Headers(init?.headers).get('webhook-id') ?? '';
      sent.push({ id, body: JSON.parse(String(init?.body)) });
      return receiver()(address, init);
    };
    const names = { organization: 'test', ticket: '7', user: 'bob' };
    const lines: string[] = [];
    for await (const { ok, says: text } of checkSamples(url, SECRETS, names, storing)) lines.push(`${ok} ${text}`);
    expect(lines.filter((line) => line.startsWith('false'))).toEqual([]);
    for (const { body } of sent)
      expect(contract.undocumentedMessage(body.type, JSON.parse(JSON.stringify(body)))).toEqual([]);
    expect(sent.map(({ body: { type, data } }) => `${type} ${data.organization} ${data.changes?.length}`)).toEqual([
      ...Array(5).fill('work.changes test 1'),
      'alert test undefined',
      ...Array(4).fill('work.changes test 100'),
    ]);
    expect(new Set(sent.flatMap(({ body }) => body.data.changes?.map(({ ticketId }) => ticketId) ?? []))).toEqual(
      new Set(['no-such-ticket', '7']),
    );
    const [one, ...repeated] = sent.slice(-4);
    for (const again of repeated) expect(again).toEqual(one);
    const [, note, entry] = /note (\S+), .* time entry (\S+),/.exec(lines.at(-1) ?? '') ?? [];
    expect(JSON.stringify(sent[1]?.body)).toContain(`"note":{"id":"${note}"`);
    expect(JSON.stringify(sent[2]?.body)).toContain(`"timeEntry":{"id":"${entry}"`);
  });

  test.each<[string, typeof fetch, RegExp]>([
    ['refuses a record', receiver({ status: 422 }), /with a note: 422: .*even to .* a record that your system refuses/],
    [
      'is too slow',
      () => Promise.reject(new DOMException('too slow', 'TimeoutError')),
      /with 100 changes: .* within 15 s\. Store the message, respond, and write/,
    ],
  ])('the advice fits a receiver that %s', async (_, send, text) => {
    const found: string[] = [];
    for await (const { ok, check, says } of checkSamples(url, SECRETS, {}, send)) found.push(`${ok} ${check}: ${says}`);
    expect(found.filter((line) => !line.startsWith('false'))).toEqual([]);
    expect(found).toHaveLength(9);
    expect(found).toContainEqual(expect.stringMatching(text));
  });

  test('a receiver with another secret is reported once', async () => {
    const found = await failures(checkReceiver(url, OTHERS, receiver()));
    expect(found).toEqual([expect.stringMatching(/401: the receiver does not accept the signature/)]);
  });

  test('a receiver that does not respond is reported once', async () => {
    const gone = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('reset') }));
    expect(await failures(checkReceiver(url, SECRETS, gone))).toHaveLength(1);
  });
});

describe('the address of the alerts', () => {
  const at = (status: number) =>
    failures(diagnoseAlerts('https://chat.example/token', async () => new Response(null, { status })));

  test('the address gets a text, and must return 2xx', async () => {
    const sent: string[] = [];
    const takes: typeof fetch = async (url, init) => {
      sent.push(String(url), String(init?.method), String(init?.body));
      return new Response('ok');
    };
    expect(await failures(diagnoseAlerts('https://chat.example/token', takes))).toEqual([]);
    expect(sent).toEqual([
      'https://chat.example/token',
      'POST',
      expect.stringMatching(/^\{"text":"A test from the doctor[^<>"]*"\}$/),
    ]);
  });

  test.each([
    [302, /302: a redirect, which is not followed/],
    [404, /404: the address must take \{"text": …\} as JSON and return 2xx/],
  ])('an address that returns %i is reported', async (status, says) => {
    expect(await at(status)).toEqual([expect.stringMatching(says)]);
  });

  test('an address that does not respond is not printed, because its path is a credential', async () => {
    const gone = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('reset') }));
    const [found] = await failures(diagnoseAlerts('https://chat.example/token', gone));
    expect(found).toContain('chat.example');
    expect(found).not.toContain('token');
  });
});
