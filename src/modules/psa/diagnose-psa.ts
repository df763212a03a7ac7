import * as z from 'zod/mini';
import { psaStatus } from '../../domain/psa-shapes.ts';
import type { WebhookSecret } from '../../domain/webhook.ts';
import { count } from '../../ops/output.ts';
import { check, Failure, type Finding, jsonOf, OLD_MS, postSigned, sendProbe } from '../../ops/probe.ts';

const statusShape = z.object({ ok: z.literal(true), value: psaStatus });

/** Checks that /psa answers messages with these secrets, and no others. Writes nothing. */
export async function* diagnosePsa(
  origin: string,
  secrets: readonly WebhookSecret[],
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const url = `${origin}/psa`;
  const message = (from: readonly WebhookSecret[], at = Date.now()) => {
    const body = JSON.stringify({ type: 'work.status', data: {} });
    return postSigned(send, url, { secrets: from, at, body });
  };
  const reachable = await check('/psa without a signature', async () => {
    const { status } = await sendProbe(send, url, { method: 'POST' });
    if (status === 401) return 'refused with 401';
    if (status === 404)
      throw new Failure('404: the deployment has no PSA_SECRET. Set it: npx wrangler secret put PSA_SECRET');
    throw new Failure(
      `${status} instead of 401: something in front of the service answers, or bypasses the signature.`,
    );
  });
  yield reachable;
  if (!reachable.ok) return;
  yield await check('/psa with your secret', async () => {
    const given = await message(secrets);
    const { data } = statusShape.safeParse(jsonOf(given.body));
    if (data) {
      const { refused, refusedSince } = data.value;
      const records = refused === 0 ? 'no record' : `${count(refused, 'record')}, the first at ${refusedSince}`;
      return `the signature is accepted; your PSA has refused ${records}`;
    }
    if (given.status === 401)
      throw new Failure(
        '401: PSA_SECRET here is not one of the deployment, the clock of this machine is wrong, or a proxy changes the body or its headers.',
      );
    throw new Failure(`${given.status}: the message was not answered by a call.`);
  });
  yield await check('/psa with another secret, or an old message', async () => {
    const forged = await message([crypto.getRandomValues(new Uint8Array(32))]);
    const old = await message(secrets, Date.now() - OLD_MS);
    if (forged.status === 401 && old.status === 401) return 'refused with 401';
    throw new Failure(`${forged.status} and ${old.status} instead of 401.`);
  });
}
