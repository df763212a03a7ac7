import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';

export default defineConfig(async () => {
  const migrations = await readD1Migrations('./migrations');
  return {
    test: {
      reporters: ['default', './test/support/summary-reporter.ts'],
      provide: { propertyRuns: Number(process.env['PROPERTY_RUNS'] ?? '1') },
      projects: [
        {
          // Inside workerd, with real D1 and Durable Objects.
          plugins: [
            cloudflareTest({
              wrangler: { configPath: './wrangler.toml' },
              miniflare: {
                bindings: {
                  TEST_MIGRATIONS: migrations,
                  // Whatever a developer has switched in .dev.vars.
                  IP_LIMIT_OVERRIDES: '',
                  BLOCKED_KEYS: '',
                  MODE: '',
                },
              },
            }),
          ],
          test: {
            name: 'workerd',
            include: ['test/**/*.test.{ts,tsx}'],
            exclude: ['test/{bench,domain,e2e,lib,repository}/**', 'test/config.test.ts'],
            setupFiles: ['./test/support/searched-logs.ts', './test/support/migrate.ts'],
            testTimeout: 30_000,
          },
        },
        {
          // On Node: pure rules, real servers, real browsers, and the repository's own promises.
          test: {
            name: 'node',
            include: ['test/{bench,domain,e2e,lib,repository}/**/*.test.ts', 'test/config.test.ts'],
            testTimeout: 120_000,
            hookTimeout: 120_000,
          },
        },
      ],
    },
  };
});
