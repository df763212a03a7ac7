import { D1Failure } from '../db/client.ts';
import { Refusal } from '../domain/errors.ts';

const NOTHING_WRITTEN = 'The database did not answer. Nothing was written; send the same request again.';
const READ_ONLY = 'The database takes no writes at the moment. Nothing was written; send the same request again later.';

/** What to throw for an error: 503 where D1 did not answer, else the error itself. The text is for what came before anything could be written. */
export function unavailable(err: unknown, detail = NOTHING_WRITTEN): unknown {
  if (!(err instanceof D1Failure) || err.kind === 'rejected') return err;
  return new Refusal('unavailable', err.kind === 'read_only' ? READ_ONLY : detail, { cause: err });
}
