import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkout, insteadOf, runScript } from '../../support/checkout.ts';
import { type Fault, startFakeCloudflare, worldOf } from '../../support/fake-cloudflare.ts';
import { SETUP_ANSWERS } from '../../support/setup-answers.ts';
import { sharedServer } from '../../support/shared.ts';

const RUNS = 3;
const INTERRUPTIONS = 3;
/** More calls than a whole setup makes. */
const CALLS = 90;
/** What happens to a call: the first ones after its effect, the others without one. */
const FAULTS = ['lost', 'slow', 'refused', '500', '403', 'html'] as const;

/** What ends an attempt: a kill after so many calls, beside a failure of an earlier or later one. */
interface Interruption {
  killAfter: number;
  failAfter: number;
  fault: Fault;
}

function randomInterruption(): Interruption {
  const calls = () => 1 + Math.floor(Math.random() * CALLS);
  const fault = FAULTS[Math.floor(Math.random() * FAULTS.length)] ?? 'lost';
  return { killAfter: calls(), failAfter: calls(), fault };
}

test('a setup whose calls fail, and that is killed, is completed by a repetition with the same result', async () => {
  const cwd = await checkout();
  const { url } = await sharedServer();
  const results: object[] = [];
  for (let run = 0; run <= RUNS; run++) {
    const fake = await startFakeCloudflare();
    onTestFinished(fake.close);
    const directory = await mkdtemp(join(tmpdir(), 'twb-setup-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const env = { ...fake.env, DEPLOYMENTS_DIRECTORY: directory, ...insteadOf('tickets.example.com', url) };
    const setup = (killed?: Promise<NodeJS.Signals>) =>
      runScript('setup-command.ts', [...SETUP_ANSWERS, '--yes'], { cwd, env, ...(killed && { killed }) });
    // The first run is the reference.
    const interruptions = run === 0 ? [] : Array.from({ length: INTERRUPTIONS }, randomInterruption);
    const ends: (number | null)[] = [];
    for (const { killAfter, failAfter, fault } of interruptions) {
      const before = fake.calls.length;
      let isOver = false;
      const after = (calls: number) =>
        vi.waitUntil(() => isOver || fake.calls.length >= before + calls, { interval: 5, timeout: 300_000 });
      const failed = after(failAfter).then(() => isOver || fake.fail(/./, fault));
      const { code } = await setup(after(killAfter).then(() => 'SIGKILL'));
      isOver = true;
      await failed;
      fake.succeed();
      ends.push(code);
    }
    const { code, output } = await setup();
    expect([interruptions, code, output]).toEqual([interruptions, 0, expect.stringContaining('All checks passed.')]);
    expect(fake.unknown).toEqual([]);
    results.push(worldOf(fake));
    expect([interruptions, results.at(-1)]).toEqual([interruptions, results[0]]);
    console.log(`setup: ${JSON.stringify({ interruptions, ends })}`);
  }
}, 1_800_000);
