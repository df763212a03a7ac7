import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { PageContext } from '../page-context.ts';
import { Hint } from './components.tsx';
import { LastWrite } from './key-facts.tsx';

/** Asks for confirmation before a key is revoked. */
export function ConfirmRevokePage({ context, subject: key }: { context: PageContext; subject: KeyDetails }) {
  return (
    <>
      <p>
        <strong>
          <bdi>{key.name}</bdi>
        </strong>{' '}
        (<Hint hint={key.hint} />) stops working immediately. This cannot be undone.
      </p>
      <p>
        Last write: <LastWrite of={key} context={context} />
      </p>
      <form method="post" action={`${context.base}/keys/${key.id}/revoke`} class="actions">
        <button type="submit" class="danger">
          Revoke
        </button>
        <a href={`${context.base}/keys/${key.id}`}>Cancel</a>
      </form>
    </>
  );
}

/** Asks for confirmation before all keys are revoked. */
export function ConfirmRevokeAllPage({
  context,
  live,
  organization,
}: {
  context: PageContext;
  live: number;
  organization: string;
}) {
  return (
    <>
      <p>
        All keys of <bdi>{organization}</bdi> ({live === 0 ? 'none' : live} in use) stop working immediately, and every
        automation stops writing. This cannot be undone. Each workflow then needs a new key.
      </p>
      <form method="post" action={`${context.base}/revoke-all`} class="actions">
        <button type="submit" class="danger">
          Revoke all keys
        </button>
        <a href={`${context.base}/keys`}>Cancel</a>
      </form>
    </>
  );
}
