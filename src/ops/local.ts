import { convertV4MiniflareOptions, Miniflare, type MiniflareOptions } from 'miniflare';
import { resultsOf, SentD1, type SentStatement } from './sent-d1.ts';
import { LOCAL_RESOURCES } from './wrangler-config.ts';

/** The folder of the local database and Durable Objects. `persistTo` is wrangler's own option. */
const stateFolder = (persistTo: string | undefined) => `${persistTo ?? '.wrangler/state'}/v3`;

/** How to remove the local data, in a sentence of an error message. */
export const removalAdvice = (persistTo: string | undefined) =>
  `To remove it with its data: rm -r ${stateFolder(persistTo)}`;

/** Runs a batch in one call. Miniflare's own binding calls the runtime twice for each statement, and blocks. */
const RUNS_BATCHES = `export default {
  async fetch(request, { DB }) {
    const batch = await request.json();
    try {
      return Response.json(await DB.batch(batch.map(({ sql, params }) => DB.prepare(sql).bind(...params))));
    } catch (err) {
      return new Response(err.message, { status: 500 });
    }
  },
}`;

/** How much text one runtime returns at most, give or take a call: its memory grows with that, and an export is long. */
const MAX_RETURNED = 16 * 1024 * 1024;

/** The local database, in a runtime with the Worker above. */
class LocalD1 extends SentD1 {
  private readonly options: MiniflareOptions;
  private readonly miniflare: Miniflare;
  private returned = 0;
  private pending = 0;
  constructor(persistTo: string | undefined) {
    super();
    this.options = convertV4MiniflareOptions({
      modules: true,
      script: RUNS_BATCHES,
      ...LOCAL_RESOURCES,
      // A call that fails has an error of its own; the runtime's lines would add a stack to it.
      handleStructuredLogs: () => undefined,
      resourcePersistencePath: stateFolder(persistTo),
    });
    this.miniflare = new Miniflare(this.options);
  }

  protected override async send<T>(batch: readonly SentStatement[]): Promise<D1Result<T>[]> {
    // This starts another runtime. Calls that begin meanwhile wait for it; a pending one would be lost.
    if (this.returned >= MAX_RETURNED && this.pending === 0) {
      this.returned = 0;
      await this.miniflare.setOptions(this.options);
    }
    this.pending += 1;
    try {
      const response = await this.miniflare.dispatchFetch('http://d1', { method: 'POST', body: JSON.stringify(batch) });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      this.returned += text.length;
      return resultsOf<T>().parse(JSON.parse(text));
    } finally {
      this.pending -= 1;
    }
  }

  close(): Promise<void> {
    return this.miniflare.dispose();
  }
}

/** Opens the database that `wrangler dev` uses. */
export async function withLocalD1<T>(persistTo: string | undefined, use: (db: D1Database) => Promise<T>): Promise<T> {
  const db = new LocalD1(persistTo);
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}
