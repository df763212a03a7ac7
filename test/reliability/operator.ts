import { join } from 'node:path';
import { build } from 'esbuild';
import { ERASED_TABLES, tableName } from '../../src/db/directory/erasure.ts';
import type { Change } from '../../src/domain/change.ts';
import { REDACTED } from '../../src/domain/change.ts';
import { exportChanges } from '../../src/ops/export-changes.ts';
import { operatorContext } from '../../src/ops/open-database.ts';
import type { Operation } from './operations-worker.ts';

const RETRY_MS = 50;

/** Bundles the Worker that the operator calls, into a file of the directory. */
export async function operationsWorker(directory: string): Promise<string> {
  const path = join(directory, 'operations.js');
  await build({
    entryPoints: [join(import.meta.dirname, 'operations-worker.ts')],
    outfile: path,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
  });
  return path;
}

/** Calls one operation after the other, each until it succeeds: all of them are safe to repeat. */
export class Operator {
  /** The ids of records whose redaction was sent. */
  readonly redacted = new Set<string>();
  readonly done: Record<string, number> = {};
  private readonly organization: string;
  private readonly url: URL;
  private readonly sleep: (ms: number) => Promise<unknown>;
  private number = 0;
  constructor(organization: string, url: URL, sleep: (ms: number) => Promise<unknown>) {
    this.organization = organization;
    this.url = url;
    this.sleep = sleep;
  }

  /** The next operation, on one of these records. */
  async doNext(ids: readonly string[]): Promise<void> {
    const { organization } = this;
    const id = ids[Math.floor(Math.random() * ids.length)];
    const kind = this.number % 3 === 0 ? ('note' as const) : ('time_entry' as const);
    const isRedaction = this.number++ % 2 === 0;
    if (id === undefined) return void (await this.sleep(RETRY_MS));
    // The record may be of the other kind: then it is not found.
    if (isRedaction) for (const one of ['note', 'time_entry'] as const) await this.redact(id, one);
    else await this.call({ organization, do: 'review', kind, id });
  }

  private redact(id: string, kind: 'note' | 'time_entry'): Promise<void> {
    this.redacted.add(id);
    return this.call({ organization: this.organization, do: 'redact', kind, id });
  }

  /** Erases the organization. */
  erase(): Promise<void> {
    return this.call({ organization: this.organization, do: 'erase' });
  }

  private async call(operation: Operation): Promise<void> {
    for (;;) {
      const response = await fetch(this.url, { method: 'POST', body: JSON.stringify(operation) }).catch(
        () => undefined,
      );
      const text = await response?.text().catch(() => undefined);
      const isRefused = response?.status === 422;
      if (text !== undefined && (response?.ok || isRefused)) {
        const { status = '' }: { status?: string } = JSON.parse(text);
        const name = `${operation.do}${status === '' ? '' : `: ${status}`}`;
        this.done[name] = (this.done[name] ?? 0) + 1;
        return;
      }
      await this.sleep(RETRY_MS);
    }
  }
}

/** What the clients know of the organization. */
interface Known {
  acknowledged: ReadonlyMap<string, string>;
  unanswered: ReadonlySet<string>;
  redacted: ReadonlySet<string>;
}

/**
 * Compares the export of an organization with what its clients know. `found` is the number of writes without a response
 * that are there.
 */
export async function findExportProblems(
  db: D1Database,
  organization: string,
  { acknowledged, unanswered, redacted }: Known,
): Promise<{ problems: string[]; found: number }> {
  const problems: string[] = [];
  const lines: string[] = [];
  await exportChanges(
    () => operatorContext(db),
    organization,
    null,
    async (part) => lines.push(...part.split('\n').slice(0, -1)),
  );
  const changes = lines.map((line): Change => JSON.parse(line));
  if (changes.some(({ seq }, index) => seq !== index + 1)) problems.push(`${organization}: the changes have a gap`);

  const texts = new Map<string, string>();
  let found = 0;
  for (const { action, note, timeEntry, targetId } of changes) {
    if (!action.endsWith('.created') || action === 'api_key.created') continue;
    const text = note?.message.text ?? timeEntry?.description.text;
    if (text === undefined) problems.push(`${organization}: the creation of ${targetId} has no record`);
    else if (texts.has(targetId)) problems.push(`${organization}: ${targetId} was created twice`);
    else if (!acknowledged.has(targetId) && !unanswered.has(text) && text !== REDACTED)
      problems.push(`${organization}: "${text}" was written and not acknowledged`);
    if (text !== undefined && unanswered.has(text)) found += 1;
    texts.set(targetId, text ?? '');
  }
  for (const [id, text] of acknowledged)
    if (texts.get(id) !== (redacted.has(id) ? REDACTED : text))
      problems.push(`${organization}: ${id} was acknowledged and is missing or has another text`);

  return { problems, found };
}

/** What is left of an erased organization, in words. */
export async function leftOf(db: D1Database, organization: string): Promise<string[]> {
  const left: string[] = [];
  for (const table of [...ERASED_TABLES.map(tableName), 'organizations']) {
    const column = table === 'organizations' ? 'id' : 'organization_id';
    const rows = await db
      .prepare(`select count(*) as n from ${table} where ${column} = ?`)
      .bind(organization)
      .first<number>('n');
    if (rows) left.push(`${organization}: ${rows} rows of ${table} are left after the erasure`);
  }
  return left;
}
