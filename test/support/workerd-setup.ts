import { applyD1Migrations } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { expectNoSecrets, searchConsole } from './searched-logs.ts';

// Runs before each test file.

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

searchConsole();
beforeEach(expectNoSecrets);
afterEach(expectNoSecrets);
afterAll(expectNoSecrets);
