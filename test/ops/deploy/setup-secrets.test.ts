import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkout, IN_TERMINAL, insteadOf, runScript } from '../../support/checkout.ts';
import { startFakeCloudflare } from '../../support/fake-cloudflare.ts';
import { SETUP_ANSWERS } from '../../support/setup-answers.ts';

const ARGUMENTS = [...SETUP_ANSWERS, '--psa', '--yes'];

/** What setup needs, with a temporary folder of its own. */
async function makeSurroundings() {
  const fake = await startFakeCloudflare();
  onTestFinished(fake.close);
  const directory = await mkdtemp(join(tmpdir(), 'twb-setup-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const env = { ...fake.env, DEPLOYMENTS_DIRECTORY: join(directory, 'deployments'), TMPDIR: directory };
  return { fake, directory, env, cwd: await checkout() };
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'setup that %s ends leaves no file with secrets in the temporary folder',
  async (signal) => {
    const { directory, env, cwd } = await makeSurroundings();
    const { NODE_OPTIONS } = insteadOf('tickets.example.com', 'http://127.0.0.1:9');
    const options = `${NODE_OPTIONS} --import data:text/javascript,${encodeURIComponent(IN_TERMINAL)}`;
    const secrets = async () =>
      (await readdir(directory, { recursive: true })).filter((path) => path.includes('secrets'));
    const found = vi.waitUntil(async () => (await secrets()).length > 0, { interval: 5, timeout: 60_000 });
    const killed = found.then(() => signal);
    const { output } = await runScript('setup-command.ts', ARGUMENTS, {
      cwd,
      env: { ...env, NODE_OPTIONS: options },
      killed,
    });
    expect(output).toContain('PSA_SECRET=whsec_');
    expect(output).toContain('Setup was interrupted. Run it again');
    expect(await secrets()).toEqual([]);
  },
);

test('setup shows no secrets without a terminal, such as in the log of a job, and then creates nothing', async () => {
  const { fake, env, cwd } = await makeSurroundings();
  const { code, output } = await runScript('setup-command.ts', ARGUMENTS, { cwd, env });
  expect([code, output]).toEqual([2, expect.stringContaining('--psa shows new secrets')]);
  expect(output).not.toContain('whsec_');
  expect(fake.calls).toEqual([]);
});
