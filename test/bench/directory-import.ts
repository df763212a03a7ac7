// npm run bench:import: imports 200,000 tickets into a new local database, twice, and prints the
// time and the memory that it took.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { bigDirectory, directoryLines } from '../support/big-directory.ts';
import { localDatabase } from '../support/local-database.ts';

const SAMPLE_MS = 50;

const { persistTo, remove } = await localDatabase();
try {
  const file = join(persistTo, 'directory.ndjson');
  await pipeline(Readable.from(directoryLines(bigDirectory())), createWriteStream(file));
  console.log(`${((await stat(file)).size / 2 ** 20).toFixed(1)} MiB of directory`);
  for (const run of ['first', 'second'])
    await measure(run, ['src/ops/ops.ts', 'directory:import', file, '--persist-to', persistTo]);
} finally {
  await remove();
}

async function measure(run: string, args: string[]): Promise<void> {
  const begun = performance.now();
  const child = spawn('node', args, { stdio: 'inherit' });
  let peak = 0;
  const sampler = setInterval(async () => {
    peak = Math.max(peak, await peakMemory(child.pid));
  }, SAMPLE_MS);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(sampler);
  if (code !== 0) throw new Error(`the ${run} run ended with ${code}`);
  console.log(
    `${run} run: ${((performance.now() - begun) / 1000).toFixed(1)} s, at most ${Math.round(peak / 1024)} MiB resident in the command's process`,
  );
}

/** The maximum of the resident memory of a process in KiB (Linux), or 0 after its end. */
async function peakMemory(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
}
