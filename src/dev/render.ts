// Makes the static files in build/static, with the defaults of all variables or those of --deployment NAME. With the
// defaults, it ends at once if no source has changed since it made them. Wrangler runs it before it bundles the Worker, and
// Vitest before the tests.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Contains when the files were last made with the defaults. */
const MADE_AT = 'build/made-at';

const { deployment } = parseArgs({ options: { deployment: { type: 'string' } } }).values;
const startedAt = Date.now();
if (deployment !== undefined || !existsSync(MADE_AT) || lastChange() >= Number(readFileSync(MADE_AT, 'utf8'))) {
  if (deployment !== undefined) rmSync(MADE_AT, { force: true });
  const { makeStaticFiles } = await import('./static-files.ts');
  await makeStaticFiles(deployment);
  if (deployment === undefined) writeFileSync(MADE_AT, String(startedAt));
}

/** When a source last changed its content, its name or the names in it, in milliseconds. The packages are sources too. */
function lastChange(): number {
  const sources = ['', ...readdirSync('src', { recursive: true, encoding: 'utf8' })].map((path) => join('src', path));
  const times = [...sources, 'CHANGELOG.md', 'package-lock.json'].map((path) => statSync(path).ctimeMs);
  return Math.max(...times);
}
