import * as z from 'zod';
import type { WebhookSecret } from '../../domain/webhook.ts';
import { check, Failure, type Finding, jsonOf, sendProbe } from '../../ops/probe.ts';
import { diagnoseClock, OLD_MS, postSigned } from '../../ops/probe-signed.ts';

/** An organization that no directory has. */
const UNKNOWN_ORGANIZATION = 'unknown.doctor';

const failureShape = z.object({ ok: z.literal(false), error: z.object({ code: z.string() }) });

/** Checks that /psa answers messages with these secrets, and no others. Writes nothing. */
export async function* diagnosePsa(
  origin: string,
  secrets: readonly WebhookSecret[],
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const url = `${origin}/psa`;
  const message = (from: readonly WebhookSecret[], at = Date.now()) => {
    const body = JSON.stringify({ type: 'work.changes', data: { organization: UNKNOWN_ORGANIZATION, cursor: null } });
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
  yield* diagnoseClock(url, () => message(secrets));
  yield await check('/psa with your secret', async () => {
    const given = await message(secrets);
    const found = failureShape.safeParse(jsonOf(given.body));
    // The organization does not exist, so this is the answer of a call that was run.
    if (given.status === 404 && found.data?.error.code === 'organization_not_found') return 'the signature is accepted';
    if (given.status === 401)
      throw new Failure(
        '401: PSA_SECRET here is not one of the deployment, or a proxy changes the body or its headers.',
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
