import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, test, vi } from 'vitest';

const requestLimit = { quota: 20, windowMs: 10_000 };
const subnet = (id: number) => ({ id, requestLimit: { quota: 5, windowMs: 10_000 } });
const limiter = () => env.RATE_LIMITER.getByName(crypto.randomUUID());

afterEach(() => {
  vi.useRealTimers();
});

describe('the limiter object of a network', () => {
  test('a burst from many subnets is admitted exactly up to the quotas of subnets and network', async () => {
    const stub = limiter();
    const decisions = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const id = index % 8;
        return { id, ...(await stub.take(requestLimit, subnet(id))) };
      }),
    );
    const admitted = decisions.filter((decision) => decision.admitted);
    expect(admitted).toHaveLength(20);
    for (let id = 0; id < 8; id++) {
      expect(admitted.filter((decision) => decision.id === id).length).toBeLessThanOrEqual(5);
    }
    for (const decision of decisions) {
      expect(decision.admitted || (decision.retryAfterMs > 0 && decision.retryAfterMs <= 10_000)).toBe(true);
    }
  });

  test('a refusal reports its limit, and a request takes from both limits or from neither', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const stub = limiter();
    for (let i = 0; i < 5; i++) await stub.take(requestLimit, subnet(1));
    for (let i = 0; i < 50; i++) {
      expect(await stub.take(requestLimit, subnet(1))).toMatchObject({ admitted: false, ofSubnet: true });
    }
    for (const id of [2, 3, 4]) {
      for (let i = 0; i < 5; i++) expect((await stub.take(requestLimit, subnet(id))).admitted).toBe(true);
    }
    vi.setSystemTime(Date.now() + 1_000);
    expect(await stub.take(requestLimit, subnet(5))).toMatchObject({
      admitted: false,
      ofSubnet: false,
      retryAfterMs: 9_000,
    });
  });

  test('the object keeps nothing in storage', async () => {
    const stub = limiter();
    await stub.take(requestLimit, subnet(1));
    expect(await runInDurableObject(stub, async (_, state) => (await state.storage.list()).size)).toBe(0);
    expect(await runInDurableObject(stub, (_, state) => state.storage.getAlarm())).toBeNull();
  });

  test('an eviction loses no entry that still counts, because the window has passed by then', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const stub = limiter();
    for (let i = 0; i < 5; i++) await stub.take(requestLimit, subnet(1));
    expect((await stub.take(requestLimit, subnet(1))).admitted).toBe(false);
    vi.setSystemTime(Date.now() + 10_000);
    await evictDurableObject(stub);
    expect(await stub.take(requestLimit, subnet(1))).toMatchObject({ admitted: true, remaining: 4 });
  });
});
