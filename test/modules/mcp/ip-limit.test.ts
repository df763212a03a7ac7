import { expect, test } from 'vitest';
import { newAddress } from '../../support/world.ts';
import { makeMcpApi } from './support.ts';

test('requests to /mcp and to the API are counted separately for each address', async () => {
  const ipLimit = { quota: 3, windowMs: 10_000 };
  const api = makeMcpApi({ config: { ipLimit } });
  const headers = { 'CF-Connecting-IP': newAddress() };
  for (const send of [
    () => api.send('/api/v1/ping', { headers }),
    () => api.send('/mcp', { method: 'POST', headers }),
  ]) {
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await send()).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
  }
});
