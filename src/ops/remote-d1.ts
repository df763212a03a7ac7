import { LoggableError } from '../lib/log.ts';
import { ApiError, type CloudflareApi, resultOf } from './cloudflare-api.ts';
import { resultsOf, SentD1, type SentStatement } from './sent-d1.ts';

/**
 * A deployed D1 database as the binding that Workers have, over Cloudflare's API. Statements sent as
 * a `batch` are one transaction there, as they are through the binding.
 *
 * This is our own code because neither client of the vendor fits (wrangler 4.156, cloudflare 7.3):
 * - wrangler's remote bindings are a real D1 binding, but each session uploads a Worker and talks
 *   to it at https://….workers.dev, so a token needs permission to edit Workers, and no test can
 *   put a local stub in its place.
 * - The SDK has `d1.database.query`, but types parameters as strings only, sends a failed write
 *   again unless it is told not to, and takes 120 MB to install. It would replace one `fetch`; the
 *   adapter to `D1Database` would stay.
 */
export class RemoteD1 extends SentD1 {
  private readonly api: CloudflareApi;
  private readonly databaseId: string;
  constructor(api: CloudflareApi, databaseId: string) {
    super();
    this.api = api;
    this.databaseId = databaseId;
  }

  protected override async send<T>(batch: readonly SentStatement[]): Promise<D1Result<T>[]> {
    const call = { method: 'POST', body: { batch } };
    return resultOf(this.api, `/d1/database/${this.databaseId}/query`, resultsOf<T>(), call).catch((err: unknown) => {
      if (!(err instanceof ApiError)) throw err;
      const { status, says } = err.failure;
      // In the words of the binding, so that callD1 knows it.
      if (status === undefined) throw new Error('Network connection lost.', { cause: err });
      // A 400 may quote the statement that failed; other errors are about account, token and database.
      throw status === 400 ? new Error(says) : new LoggableError(err.message);
    });
  }
}
