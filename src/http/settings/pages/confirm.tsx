import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { LastWrite } from './key-list.tsx';
import { Hint, type Place } from './components.tsx';

/** Asks before a key is revoked, and says what that stops. */
export function ConfirmRevokePage({ place, subject: key }: { place: Place; subject: KeyDetails }) {
  return (
    <>
      <p>
        <strong>
          <bdi>{key.name}</bdi>
        </strong>{' '}
        (<Hint hint={key.hint} />) is refused from the very next request on. This cannot be undone.
      </p>
      <p>
        Its last write: <LastWrite of={key} place={place} />
      </p>
      <form method="post" action={`${place.base}/keys/${key.id}/revoke`} class="actions">
        <button type="submit" class="danger">
          Revoke
        </button>
        <a href={`${place.base}/keys/${key.id}`}>Cancel</a>
      </form>
    </>
  );
}

/** Asks before all keys are revoked. */
export function ConfirmRevokeAllPage({ place, live, organization }: { place: Place; live: number; organization: string }) {
  return (
    <>
      <p>
        For the bad night: every key of <bdi>{organization}</bdi> ({live === 0 ? 'none is' : live === 1 ? '1 is' : `${live} are`} in use) is
        refused from the very next request on, and every automation stops writing. This cannot be undone; each workflow then needs a new
        key.
      </p>
      <form method="post" action={`${place.base}/revoke-all`} class="actions">
        <button type="submit" class="danger">
          Revoke all keys
        </button>
        <a href={`${place.base}/keys`}>Cancel</a>
      </form>
    </>
  );
}
