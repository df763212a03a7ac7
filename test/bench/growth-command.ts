// npm run bench:growth: simulates three years of writes twice, without an archive and with one, in real
// D1 and R2 on this machine, and writes GROWTH.md. `-- --quick` is for work on the simulation itself: it
// writes to test-results only. `-- --organizations 25` takes half of the time.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { GrowthPlan } from './growth.ts';
import { renderGrowth } from './growth-report.ts';
import { runGrowth } from './growth-run.ts';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, organizations: { type: 'string', default: '50' } },
});
const plan: GrowthPlan = {
  months: options.quick ? 5 : 36,
  organizations: Number(options.organizations),
  writesPerMonth: 20_000,
  scale: options.quick ? 5_000 : 500,
  noteCharacters: 800,
  entryCharacters: 150,
};
const KEEP_DAYS = 90;

const directory = await mkdtemp(join(tmpdir(), 'twb-growth-'));
try {
  const report = (line: string) => console.error(line);
  const without = await runGrowth(join(directory, 'without'), plan, null, report);
  const withArchive = await runGrowth(join(directory, 'with'), plan, KEEP_DAYS, report);
  const results = options.quick ? 'test-results/growth.md' : join(import.meta.dirname, 'GROWTH.md');
  await mkdir('test-results', { recursive: true });
  await writeFile(results, renderGrowth(plan, [without, withArchive], new Date().toISOString().slice(0, 10)));
  console.log(`Written to ${results}`);
} finally {
  await rm(directory, { recursive: true, force: true });
}
