import { D1Failure } from '../db/client.ts';
import { Refusal } from '../domain/refusal.ts';

/** What to throw for an error that came before anything could be written: 503 where D1 did not answer, else the error itself. */
export function unavailable(err: unknown): unknown {
  if (!(err instanceof D1Failure) || err.kind === 'rejected') return err;
  return new Refusal('unavailable', 'The database did not answer. Nothing was written; send the same request again.', { cause: err });
}
