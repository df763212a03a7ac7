import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { migrate } from '../../src/dev/migrate.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { bundleWorker } from '../support/bundle-worker.ts';
import { COMPATIBILITY_DATE } from '../support/compatibility-date.ts';
import { directoryOf, type GrowthPlan, type MonthEnd, monthEnd } from './growth.ts';
import { type GrowthRun, growthCheck } from './growth-report.ts';

/** Runs one simulation, with its data in `directory`. `report` gets a line for each month. */
export async function runGrowth(
  directory: string,
  plan: GrowthPlan,
  keepDays: number | null,
  report: (line: string) => void,
): Promise<GrowthRun> {
  const begun = performance.now();
  const seconds = () => Math.round((performance.now() - begun) / 1000);
  const miniflare = await startWorker(directory);
  const call = async (path: string): Promise<unknown> => {
    const response = await miniflare.dispatchFetch(`http://localhost${path}`, {
      method: 'POST',
      body: JSON.stringify({ plan, keepDays }),
    });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  try {
    const db = await miniflare.getD1Database('DB');
    await migrate(db);
    const imported = await importDirectory(db, directoryOf(plan));
    if (!imported.ok) throw new Error(JSON.stringify(imported.errors));
    const { databaseBytes: emptyBytes } = monthEnd.parse(await call('/begin'));
    const months: MonthEnd[] = [];
    while (months.length < plan.months) {
      const end = monthEnd.parse(await call('/month'));
      months.push(end);
      report(`month ${end.month}: ${end.writes} writes, ${end.databaseBytes} bytes, ${seconds()} s`);
    }
    const found = growthCheck.parse(await call('/check'));
    return { ...found, keepDays, emptyBytes, months, seconds: seconds() };
  } finally {
    await miniflare.dispose();
  }
}

async function startWorker(directory: string): Promise<Miniflare> {
  const contents = await bundleWorker(join(import.meta.dirname, 'growth-worker.ts'));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: directory,
      cf: false,
      modules: [{ type: 'ESModule', path: 'index.js', contents }],
      compatibilityDate: COMPATIBILITY_DATE,
      d1Databases: ['DB'],
      r2Buckets: ['ARCHIVE'],
    }),
  );
  await miniflare.ready;
  return miniflare;
}
