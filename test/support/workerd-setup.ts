import { applyD1Migrations } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { wrapPrototypesOnce } from './prototype-proxies.ts';
import { expectNoSecrets, searchConsole } from './searched-logs.ts';

// Runs before each test file.

wrapPrototypesOnce();
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

searchConsole();
beforeEach(expectNoSecrets);
afterEach(expectNoSecrets);
afterAll(expectNoSecrets);
