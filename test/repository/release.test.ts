import { expect, test } from 'vitest';
import { type Run, release } from '../../src/dev/release.ts';

/** A release whose commands are written down; one of them may fail. */
async function releaseTo(files: string[], options = { migrate: true, agents: true }, failing?: string) {
  const steps: string[] = [];
  const run: Run = async (program, args) => {
    const step = `${program} ${args.join(' ')}`;
    steps.push(step);
    if (step === failing) throw new Error(step);
  };
  const ended = await release(files, options, run, async (done, next) => {
    steps.push(`after ${done}: wait, then ${next}`);
  }).then(
    () => 'released',
    (err: Error) => `failed: ${err.message}`,
  );
  return { ended, steps };
}

test('a release goes to one deployment after the other: schema, main Worker, Worker for AI agents', async () => {
  expect(await releaseTo(['wrangler.toml', 'us.toml'])).toEqual({
    ended: 'released',
    steps: [
      'wrangler d1 migrations apply DB --remote -c wrangler.toml',
      'build --config wrangler.toml',
      'wrangler deploy -c wrangler.toml',
      'build:agents --config src/agents/wrangler.toml',
      'wrangler deploy -c src/agents/wrangler.toml',
      'after wrangler.toml: wait, then us.toml',
      'wrangler d1 migrations apply DB --remote -c us.toml',
      'build --config us.toml',
      'wrangler deploy -c us.toml',
    ],
  });
});

test('without options it builds and deploys one Worker', async () => {
  const { steps } = await releaseTo(['wrangler.toml'], { migrate: false, agents: false });
  expect(steps).toEqual(['build --config wrangler.toml', 'wrangler deploy -c wrangler.toml']);
});

test('a step that fails leaves the next deployments at their release', async () => {
  const failing = 'wrangler deploy -c eu.toml';
  const { ended, steps } = await releaseTo(['eu.toml', 'us.toml'], undefined, failing);
  expect([ended, steps.at(-1)]).toEqual([`failed: ${failing}`, failing]);
});
