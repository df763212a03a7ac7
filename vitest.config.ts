import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { writeConfigs } from './src/ops/deploy/render-configs.ts';

/**
 * The tests that run on Node: rules without I/O, real servers and browsers, and checks of the
 * repository.
 */
const ON_NODE = [
  'test/{bench,connectors,dev,domain,e2e,lib,ops/{commands,deploy},reliability,repository}/**/*.test.ts',
  'test/config.test.ts',
  'test/modules/*/{commands,e2e,reliability}/**/*.test.ts',
];

/** Tests that only `npm run test:long` runs. */
const LONG = 'test/**/*.long.test.ts';

/** For a slow machine: only a test that hangs takes that long. */
const TIMEOUTS = { testTimeout: 120_000, hookTimeout: 120_000 };

/** Files that take longest and are short. */
const LONGEST = [
  'test/repository/modules.test.ts',
  'test/ops/deploy/setup-deploys.test.ts',
  'test/modules/push/reliability/',
  'test/ops/commands/export-and-erase.test.ts',
  'test/reliability/',
  'test/adapters/',
  'test/services/faults/',
  'test/http/isolation/',
  'test/http/hostile/',
  'test/http/refusals.test.ts',
  'test/modules/alerts/budget.test.ts',
  'sequences.test.ts',
];

/**
 * Vitest begins with the largest files as long as it has not measured them, and would end with those. The tests on Node come
 * first, because many of them wait: when the last of them run, those in workerd use the processors.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((path) => moduleId.includes(path));
    const place = (file: TestSpecification) => (file.project.name === 'node' ? 0 : 2) + (isLong(file) ? 0 : 1);
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

// The tests start about a hundred processes: each after the first finds its packages compiled.
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/compiled');

export default defineConfig(async ({ mode }) => {
  // The static files that the Worker and the tests read.
  execFileSync('node', ['src/dev/render.ts']);
  const migrations = await readD1Migrations('./migrations');
  // `npm run test:long`
  const long = mode === 'long';
  const propertyRuns = Number(process.env['PROPERTY_RUNS'] ?? (long ? '8' : '1'));
  // A longer run prints how long its property tests are.
  const silent: boolean | 'passed-only' = long || propertyRuns > 1 ? false : 'passed-only';
  return {
    test: {
      // All tests wait for a third of their time, so three share the processors of two. Vitest's default would be one.
      maxWorkers: 3,
      silent,
      sequence: { sequencer: LongestFirst },
      reporters: ['default', './test/support/summary-reporter.ts'],
      provide: { long, propertyRuns },
      projects: [
        {
          // Inside workerd, with real D1 and Durable Objects, except that most tests count requests in memory.
          plugins: [
            cloudflareTest({
              // In another directory than .dev.vars, which belongs to the developer.
              wrangler: { configPath: writeConfigs().main.path },
              miniflare: { bindings: { TEST_MIGRATIONS: migrations } },
            }),
          ],
          test: {
            name: 'workerd',
            include: ['test/**/*.test.{ts,tsx}'],
            exclude: [...ON_NODE, ...(long ? [] : [LONG])],
            // A runtime of its own for each file would take two seconds to start. Instead each test
            // makes its own organization.
            isolate: false,
            setupFiles: ['./test/support/workerd-setup.ts'],
            ...TIMEOUTS,
          },
        },
        {
          test: {
            name: 'node',
            include: ON_NODE,
            exclude: ['**/node_modules/**', ...(long ? [] : [LONG])],
            // Loading Miniflare, wrangler and Playwright takes longer than most files run.
            isolate: false,
            globalSetup: './test/support/shared-setup.ts',
            ...TIMEOUTS,
          },
        },
      ],
    },
  };
});
