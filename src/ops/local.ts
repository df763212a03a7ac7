import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import * as z from 'zod';
import { SentD1, type SentStatement } from './sent-d1.ts';
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

/** The local database, in a runtime with the Worker above. */
class LocalD1 extends SentD1 {
  private readonly miniflare: Miniflare;
  constructor(miniflare: Miniflare) {
    super();
    this.miniflare = miniflare;
  }

  protected override async send<T>(batch: readonly SentStatement[]): Promise<D1Result<T>[]> {
    const response = await this.miniflare.dispatchFetch('http://d1', { method: 'POST', body: JSON.stringify(batch) });
    if (!response.ok) throw new Error(await response.text());
    return z.array(z.custom<D1Result<T>>()).parse(await response.json());
  }
}

/** Opens the database that `wrangler dev` uses. */
export async function withLocalD1<T>(persistTo: string | undefined, use: (db: D1Database) => Promise<T>): Promise<T> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: RUNS_BATCHES,
      ...LOCAL_RESOURCES,
      // A call that fails has an error of its own; the runtime's lines would add a stack to it.
      handleStructuredLogs: () => undefined,
      resourcePersistencePath: stateFolder(persistTo),
    }),
  );
  try {
    return await use(new LocalD1(miniflare));
  } finally {
    await miniflare.dispose();
  }
}
