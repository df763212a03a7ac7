import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import type { PushRow } from '../../../src/modules/push/push-statements.ts';
import { countD1 } from '../../support/d1.ts';
import { elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { makeKey, makeOrganization } from '../../support/world.ts';
import { PUSH, setPush } from './support.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');
const PATHS = ['/keys', '/which-key', '/audit', '/refused', '/which-key', '/revoke-all', '/keys/unknown'];

/** The settings area of an organization whose push has this state; no state: it was never pushed. */
async function makeWithPush(state?: Partial<PushRow>, isOn = true) {
  const { db, calls } = countD1(env.DB);
  const settings = await makeSettings({
    timeZone: 'Europe/Berlin',
    now: () => NOW,
    config: { receiver: isOn ? PUSH : undefined },
    bindings: { DB: db },
  });
  if (state) await setPush(settings.organization, state);
  return { ...settings, calls };
}

const failing = (ms: number) => ({ failingSince: NOW - ms, failure: 'HTTP 500' });
const STOPPED = { failingSince: NOW - 1_000, failure: 'HTTP 410', stoppedAt: NOW - 1_000 };

async function warningsOn(page: string): Promise<string> {
  const warnings = await elementsOf(page, '.banner.warning');
  return warnings.map(({ text }) => text.replaceAll(/\s+/g, ' ').trim()).join('\n');
}

describe('the banner about the push', () => {
  test('the banner is on every page from five minutes on, shows since when and why, and costs no call', async () => {
    const { organization, get, calls } = await makeWithPush(failing(300_000));
    // Without a key, /revoke-all leads to the list.
    await makeKey(organization, {}, () => NOW);
    for (const path of PATHS) {
      const text = await warningsOn((await get(path)).text);
      expect(text, path).toBe(
        'Notes and time entries have not reached your PSA since 22 Nov 2026, 08:55. The last attempt failed: HTTP 500. They are sent again until your PSA accepts them.Nothing is lost: automations can keep writing. Tell the operator of this service.Send now',
      );
    }
    calls.length = 0;
    await get('/which-key');
    // The sign-in.
    expect(calls).toHaveLength(1);
  });

  test('the banner is on every page of an organization that the receiver has stopped', async () => {
    const { get } = await makeWithPush(STOPPED);
    const text = await warningsOn((await get('/keys')).text);
    expect(text).toMatch(/^Notes and time entries have not been sent to your PSA since 22 Nov 2026, 08:59\./);
    expect(text).toContain('accepts no more (HTTP 410)');
    expect(text).toContain('Nothing is lost');
  });

  test.each<[string, Partial<PushRow> | undefined, boolean]>([
    ['was never pushed', undefined, true],
    ['has been failing for less', failing(299_999), true],
    ['works', { confirmedSeq: 5 }, true],
    ['failed before the receiver was removed', failing(3_000_000), false],
  ])('no page shows the banner if the push %s', async (_, state, isOn) => {
    const { get } = await makeWithPush(state, isOn);
    for (const path of PATHS) expect([path, await warningsOn((await get(path)).text)]).toEqual([path, '']);
  });

  test('a tile under "Needs attention" leads to the writes since then', async () => {
    const tile = async ({ get }: Awaited<ReturnType<typeof makeWithPush>>) => {
      const tiles = await elementsOf((await get('/keys')).text, '.attention a');
      return tiles.map(({ attributes, text }) => [attributes['href'], text.replaceAll(/\s+/g, ' ').trim()]);
    };
    const failed = await makeWithPush(failing(9 * 3_600_000 + 300_000));
    expect(await tile(failed)).toEqual([[`${failed.base}/audit?from=2026-11-21`, 'Writes do not reach your PSA']]);
    expect((await failed.get('/audit?from=2026-11-21')).status).toBe(200);
    const stopped = await makeWithPush(STOPPED);
    expect(await tile(stopped)).toEqual([[`${stopped.base}/audit?from=2026-11-22`, 'Writes are not sent to your PSA']]);
    expect(await tile(await makeWithPush(failing(299_999)))).toEqual([]);
    expect(await tile(await makeWithPush(STOPPED, false))).toEqual([]);
  });

  test('no page of another organization shows the banner', async () => {
    const { organization, api, headers } = await makeWithPush(failing(3_000_000));
    const other = await makeOrganization();
    const response = await api.send(`/settings/${other}/keys`, { headers });
    expect(await warningsOn(await response.text())).toBe('');
    expect(organization).not.toBe(other);
  });
});
