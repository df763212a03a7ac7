import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkout, IN_TERMINAL, insteadOf, runScript } from '../../support/checkout.ts';
import { startFakeCloudflare, TOKEN, worldOf } from '../../support/fake-cloudflare.ts';
import { SETUP_ANSWERS } from '../../support/setup-answers.ts';
import { sharedServer } from '../../support/shared.ts';

const WORKER = 'ticket-write-back-eu-api';

test('setup deploys both rendered Workers with the real wrangler, imports the directory, and runs the doctor', async () => {
  const fake = await startFakeCloudflare();
  onTestFinished(fake.close);
  const directory = await mkdtemp(join(tmpdir(), 'twb-setup-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { NODE_OPTIONS } = insteadOf('tickets.example.com', (await sharedServer()).url);
  // Each program that gets the token writes its name.
  const report = `import { appendFileSync } from 'node:fs';
    ${IN_TERMINAL}
    if (process.env.CLOUDFLARE_API_TOKEN) appendFileSync('${directory}/programs', process.argv[1] + '\\n');`;
  const env = {
    ...fake.env,
    DEPLOYMENTS_DIRECTORY: directory,
    NODE_OPTIONS: `${NODE_OPTIONS} --import data:text/javascript,${encodeURIComponent(report)}`,
  };
  const cwd = await checkout();
  const startedAt = Date.now();
  const { code, output } = await runScript('setup-command.ts', ['eu', ...SETUP_ANSWERS, '--psa', '--yes'], {
    cwd,
    env,
  });
  console.log(`setup: ${fake.calls.length} calls, ${Math.round((Date.now() - startedAt) / 1000)} s`);
  expect([code, output]).toEqual([0, expect.stringContaining('All checks passed.')]);
  // What wrangler prints is in a file.
  expect(output.split('\n').filter((line) => !/: \d+ s$/.test(line)).length).toBeLessThan(45);
  expect(output).not.toContain('Total Upload');
  expect(await readFile(join(cwd, 'build/deploy.log'), 'utf8')).toContain('Total Upload');
  expect(fake.unknown).toEqual([]);
  const world = worldOf(fake);
  expect(world).toMatchObject({
    databases: [{ organizations: [{ id: 'northwind' }] }],
    domains: [{ service: WORKER }],
    scripts: [WORKER, `${WORKER}-agents`],
  });
  expect(fake.state.routes).toMatchObject([{ pattern: 'tickets.example.com/mcp*' }]);
  const { secrets = {}, bindings } = fake.state.scripts.get(WORKER) ?? {};
  expect(Object.keys(secrets).sort()).toEqual(['PSA_SECRET', 'WEBHOOK_SECRET']);
  expect(output).toContain(`PSA_SECRET=${secrets['PSA_SECRET']}`);
  const file = await readFile(join(directory, 'eu.toml'), 'utf8');
  for (const text of [output, file]) expect(text).not.toContain(TOKEN);
  expect(file).not.toContain('whsec_');

  const variable = expect.objectContaining({ type: 'plain_text', name: 'KEY_PREFIX', text: 'eu' });
  const database = expect.objectContaining({ name: 'DB', id: fake.state.databases[0]?.uuid });
  const api = expect.objectContaining({ type: 'service', name: 'API', service: WORKER, entrypoint: 'Api' });
  expect(bindings).toEqual(expect.arrayContaining([variable, database]));
  expect(fake.state.scripts.get(`${WORKER}-agents`)?.bindings).toEqual([api]);
  expect(await readFile(join(cwd, 'build/static/docs/keys.html'), 'utf8')).toContain('eu_[0-9A-Za-z]');

  // Only setup, wrangler, and what wrangler runs to render the documentation.
  const programs = new Set(
    (await readFile(join(directory, 'programs'), 'utf8'))
      .trim()
      .split('\n')
      .map((path) => basename(path)),
  );
  expect([...programs].sort()).toEqual(['cli.js', 'render.ts', 'setup-command.ts', 'tsc']);
}, 600_000);
