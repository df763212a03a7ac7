import { expect, test } from 'vitest';
import { makeApi, newAddress } from '../../support/world.ts';
import { PSA_SECRET } from './support.ts';

test('requests to /psa and to the API are counted separately for each address', async () => {
  const ipLimit = { quota: 3, windowMs: 10_000 };
  const api = makeApi({ config: { ipLimit }, vars: { PSA_SECRET } });
  const headers = { 'CF-Connecting-IP': newAddress() };
  for (const send of [
    () => api.send('/api/v1/ping', { headers }),
    () => api.send('/psa', { method: 'POST', headers }),
  ]) {
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await send()).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
  }
});
