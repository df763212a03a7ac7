import { describe, expect, test } from 'vitest';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeSettings } from '../../support/settings.ts';
import { makeApi, makeCountedApi, makeKey, makeOrganization, problemOf, rowsOf } from '../../support/world.ts';

describe('a paused service', () => {
  test('responds to every request to the API with 503 and Retry-After, without calls to D1 or limiters', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const { api, d1, limiters } = makeCountedApi({ config: { mode: 'paused' } });
    const answers = [
      await api.send('/api/v1/ping', { key }),
      await api.send('/api/v1/ping'),
      await api.postNote(key),
      await api.postTime(key),
      await api.send('/api/v1/nowhere'),
      await api.send('/api/'),
      await api.send('/api/v1/openapi.json', { method: 'POST', key }),
    ];
    for (const response of answers) {
      expect(response.headers.get('Retry-After')).toBe('60');
      // By this word the doctor knows the reason.
      expect(await response.clone().text()).toContain('paused');
      expect(await problemOf(response)).toBe('503 unavailable');
    }
    expect([d1, limiters]).toEqual([[], []]);
    expect(await rowsOf('notes', organization)).toEqual([]);
    // Logged as normal lines, because the pause is intended.
    expect(loggedLines('request', 'log').filter(({ problem }) => problem === 'unavailable')).toHaveLength(
      answers.length,
    );
  });

  test('still revokes keys', async () => {
    const { organization, post } = await makeSettings({ config: { mode: 'paused' } });
    const key = await makeKey(organization);
    expect((await post(`/keys/${key.id}/revoke`, {})).notice).toContain('The key is revoked');
    expect((await makeApi().send('/api/v1/ping', { key: key.value })).status).toBe(401);
  });
});
