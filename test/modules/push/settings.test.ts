import { describe, expect, test } from 'vitest';
import type { PushRow } from '../../../src/modules/push/push-statements.ts';
import { elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { makeOrganization } from '../../support/world.ts';
import { PUSH, setPush } from './support.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');

/** The settings area of an organization whose push has this state; no state: it was never pushed. */
async function makeWithPush(state?: Partial<PushRow>, isOn = true) {
  const settings = await makeSettings({
    timeZone: 'Europe/Berlin',
    now: () => NOW,
    config: { receiver: isOn ? PUSH : undefined },
  });
  if (state) await setPush(settings.organization, state);
  return settings;
}

const failing = (ms: number) => ({ failingSince: NOW - ms, failure: 'HTTP 500' });
const STOPPED = { failingSince: NOW - 1_000, failure: 'HTTP 410', stoppedAt: NOW - 1_000 };

const wordsOf = async (page: string, selector: string) =>
  (await elementsOf(page, selector)).map(({ text }) => text.replaceAll(/\s+/g, ' ').trim());

describe('the push under "Needs attention"', () => {
  const tile = async ({ get }: Awaited<ReturnType<typeof makeWithPush>>) => {
    const tiles = await elementsOf((await get('/keys')).text, '.attention a');
    return tiles.map(({ attributes, text }) => [attributes['href'], text.replaceAll(/\s+/g, ' ').trim()]);
  };

  test('a tile leads from five minutes on to a page that says since when and why', async () => {
    const failed = await makeWithPush(failing(300_000));
    expect(await tile(failed)).toEqual([[`${failed.base}/push`, 'Writes do not reach your PSA']]);
    const { text } = await failed.get('/push');
    expect(await wordsOf(text, 'main section')).toEqual([
      'Notes and time entries have not reached your PSA since 22 Nov 2026, 08:55. The last attempt failed: HTTP 500. They are sent again until your PSA accepts them.Nothing is lost: automations can keep writing. Tell the operator of this service. What was written since thenSend now',
    ]);
    expect(await elementsOf(text, `main a[href="${failed.base}/audit?from=2026-11-22"]`)).toHaveLength(1);
    expect((await failed.get('/audit?from=2026-11-22')).status).toBe(200);
  });

  test('the page of an organization that the receiver has stopped says so', async () => {
    const stopped = await makeWithPush(STOPPED);
    expect(await tile(stopped)).toEqual([[`${stopped.base}/push`, 'Writes are not sent to your PSA']]);
    const [text] = await wordsOf((await stopped.get('/push')).text, 'main section');
    expect(text).toMatch(/^Notes and time entries have not been sent to your PSA since 22 Nov 2026, 08:59\./);
    expect(text).toContain('accepts no more (HTTP 410)');
  });

  test.each<[string, Partial<PushRow> | undefined, boolean]>([
    ['was never pushed', undefined, true],
    ['has been failing for less', failing(299_999), true],
    ['works', { confirmedSeq: 5 }, true],
    ['failed before the receiver was removed', failing(3_000_000), false],
    ['was stopped before the receiver was removed', STOPPED, false],
  ])('nothing is shown if the push %s', async (_, state, isOn) => {
    const settings = await makeWithPush(state, isOn);
    expect(await tile(settings)).toEqual([]);
    expect((await settings.get('/push')).text).toContain('Nothing keeps notes and time entries from your PSA.');
  });

  test('no page of another organization shows it', async () => {
    const { organization, api, headers } = await makeWithPush(failing(3_000_000));
    const other = await makeOrganization();
    for (const page of ['keys', 'push']) {
      const response = await api.send(`/settings/${other}/${page}`, { headers });
      expect(await response.text()).not.toContain('not reached your PSA since');
    }
    expect(organization).not.toBe(other);
  });
});

test('without a receiver, an order to resume changes nothing', async () => {
  const { post } = await makeWithPush(STOPPED, false);
  const { status, text } = await post('/push/resume', '');
  expect([status, text.includes('Nothing to resume')]).toEqual([409, true]);
});
