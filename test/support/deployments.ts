import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { deploymentsDirectory } from './shared.ts';

/** The account of all deployments. */
export const ACCOUNT = 'acc'.padStart(32, '0');

/** The settings that every deployment needs. */
export const MINIMAL = {
  account: ACCOUNT,
  zone: 'example.com',
  host: 'tickets.example.com',
  place: 'weur',
  database: '00000000-0000-4000-8000-0000000000db',
};

/** Writes the files of deployments, each with what differs from MINIMAL, and returns the variable that names their folder. */
export async function writeDeployments(files: Record<string, object>): Promise<{ DEPLOYMENTS_DIRECTORY: string }> {
  const directory = await mkdtemp(join(await deploymentsDirectory(), 'each-'));
  for (const [name, settings] of Object.entries(files))
    await writeFile(join(directory, `${name}.toml`), stringify({ ...MINIMAL, ...settings }));
  return { DEPLOYMENTS_DIRECTORY: directory };
}
