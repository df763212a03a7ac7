import { existsSync } from 'node:fs';
import { agentsConfigOf } from '../ops/wrangler-config.ts';

/** One step of a release: a script of package.json or wrangler, with its arguments. */
export type Run = (program: 'build' | 'build:agents' | 'wrangler', args: readonly string[]) => Promise<void>;

/**
 * Releases to one deployment after the other: migrations, main Worker, Worker for AI agents. A step
 * that throws ends the release, so the deployments after it keep the release before.
 */
export async function release(
  files: readonly string[],
  { migrate, agents }: { migrate: boolean; agents: boolean },
  run: Run,
  proceed: (done: string, next: string) => Promise<void>,
): Promise<void> {
  for (const [index, file] of files.entries()) {
    const previous = files[index - 1];
    if (previous !== undefined) await proceed(previous, file);
    if (migrate) await run('wrangler', ['d1', 'migrations', 'apply', 'DB', '--remote', '-c', file]);
    await run('build', ['--config', file]);
    await run('wrangler', ['deploy', '-c', file]);
    const agentsFile = agentsConfigOf(file);
    if (!agents || !existsSync(agentsFile)) continue;
    await run('build:agents', ['--config', agentsFile]);
    await run('wrangler', ['deploy', '-c', agentsFile]);
  }
}
