import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkout, insteadOf, runScript } from '../../support/checkout.ts';
import { startFakeCloudflare, TOKEN, worldOf } from '../../support/fake-cloudflare.ts';
import { SETUP_ANSWERS } from '../../support/setup-answers.ts';
import { sharedServer } from '../../support/shared.ts';

const RUNS = 3;
const KILLS = 3;
/** More calls than a whole setup makes. */
const CALLS = 90;

test('a setup that is killed at random calls is completed by a repetition, with the same result', async () => {
  const cwd = await checkout();
  const { url } = await sharedServer();
  const results: object[] = [];
  const killedAt: number[][] = [];
  for (let run = 0; run <= RUNS; run++) {
    const fake = await startFakeCloudflare();
    onTestFinished(fake.close);
    const directory = await mkdtemp(join(tmpdir(), 'twb-setup-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const env = {
      CLOUDFLARE_API_BASE_URL: fake.url,
      CLOUDFLARE_API_TOKEN: TOKEN,
      DEPLOYMENTS_DIRECTORY: directory,
      ...insteadOf('tickets.example.com', url),
    };
    const setup = (killed?: Promise<unknown>) =>
      runScript('setup-command.ts', [...SETUP_ANSWERS, '--yes'], { cwd, env, ...(killed && { killed }) });
    const kills: number[] = [];
    // The first run is the reference.
    for (let kill = 0; run > 0 && kill < KILLS; kill++) {
      const [before, calls] = [fake.calls.length, 1 + Math.floor(Math.random() * CALLS)];
      kills.push(calls);
      let isOver = false;
      const killed = vi.waitUntil(() => isOver || fake.calls.length >= before + calls, {
        interval: 5,
        timeout: 300_000,
      });
      await setup(killed);
      isOver = true;
    }
    killedAt.push(kills);
    const { code, output } = await setup();
    expect([code, output, kills]).toEqual([0, expect.stringContaining('All checks passed.'), kills]);
    expect(fake.unknown).toEqual([]);
    results.push(worldOf(fake));
    expect([kills, results.at(-1)]).toEqual([kills, results[0]]);
  }
  console.log(
    `setup: killed after ${killedAt
      .map((kills) => kills.join(', '))
      .filter(Boolean)
      .join('; ')} calls`,
  );
}, 1_800_000);
