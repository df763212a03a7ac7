import { applyD1Migrations } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { emptyDatabase } from './empty-database.ts';
import { importMainOnce } from './import-main-once.ts';
import { expectNoSecrets, searchConsole } from './searched-logs.ts';

// Runs before each test file.

importMainOnce();

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
// The jobs and some checks read all organizations: the data of many files would slow them down.
const organizations = await env.DB.prepare('select count(*) as n from organizations').first<number>('n');
if (organizations !== null && organizations > 20) await emptyDatabase();

searchConsole();
beforeEach(expectNoSecrets);
afterEach(expectNoSecrets);
afterAll(expectNoSecrets);
