import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { KeyQuery } from '../../../services/keys/select-keys.ts';
import type { Messages } from '../forms.ts';
import { keyListParameters, keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';
import { counted, Hint, State, Table, type TableColumn } from './components.tsx';
import { describedBy, FieldMessage } from './form.tsx';
import { KeyName, LastWrite } from './key-facts.tsx';

export function ConfirmRevokePage({ subject: key }: { subject: KeyDetails }) {
  const { base } = usePage();
  return (
    <>
      <p>
        <strong>
          <bdi>{key.name}</bdi>
        </strong>{' '}
        (<Hint hint={key.hint} />) stops working immediately. This cannot be undone.
      </p>
      <p>
        Last write: <LastWrite of={key} />
      </p>
      <form method="post" action={`${base}/keys/${key.id}/revoke`} class="actions">
        <button type="submit" class="danger">
          Revoke
        </button>
        <a href={`${base}/keys/${key.id}`}>Cancel</a>
      </form>
    </>
  );
}

const TO_REVOKE: readonly TableColumn<KeyDetails>[] = [
  ['Key', (key) => <KeyName of={key} />],
  ['State', ({ state }) => <State state={state} />],
  ['Last write', (key) => <LastWrite of={key} />],
  ['Owner', ({ owner }) => <bdi>{owner || '–'}</bdi>],
];

/** Asks for confirmation before the keys that were selected in a list are revoked. */
export function ConfirmRevokeKeysPage({ keys, query }: { keys: readonly KeyDetails[]; query: KeyQuery }) {
  const { base } = usePage();
  return (
    <>
      <p>Requests with these keys are refused from then on. This cannot be undone.</p>
      <Table caption="Keys to revoke" columns={TO_REVOKE} rows={keys} />
      <form method="post" action={`${base}/revoke-keys`} class="actions">
        {keys.map(({ id }) => (
          <input type="hidden" name="key" value={id} />
        ))}
        {keyListParameters(query).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" class="danger">
          Revoke {counted(keys.length, 'key')}
        </button>
        <a href={keyListPath(base, query)}>Cancel</a>
      </form>
    </>
  );
}

interface RevokeAllProps {
  live: number;
  organization: string;
  typed: string | undefined;
}

/** Asks for the organization’s name before all keys are revoked. */
export function ConfirmRevokeAllPage({ live, organization, typed }: RevokeAllProps) {
  const { base } = usePage();
  const messages: Messages = {};
  if (typed !== undefined) messages['organization'] = 'This is not the organization’s name. Nothing was revoked.';
  if (live === 0)
    return (
      <p>
        The organization has no key in use. <a href={`${base}/keys`}>Go to the keys</a>
      </p>
    );
  return (
    <>
      <p>
        All keys of{' '}
        <strong>
          <bdi>{organization}</bdi>
        </strong>{' '}
        ({live} in use) stop working immediately, and every automation stops writing. This cannot be undone. Each
        workflow then needs a new key.
      </p>
      <form method="post" action={`${base}/revoke-all`} class="form">
        <div class="field">
          <label for="organization">Name of the organization</label>
          <input
            id="organization"
            name="organization"
            type="text"
            required
            autocomplete="off"
            value={typed}
            {...describedBy('organization', messages, true)}
          />
          <p class="help" id="organization-help">
            Type “<bdi>{organization}</bdi>” to confirm.
          </p>
          <FieldMessage name="organization" messages={messages} />
        </div>
        <div class="actions">
          <button type="submit" class="danger">
            Revoke all keys
          </button>
          <a href={`${base}/keys`}>Cancel</a>
        </div>
      </form>
    </>
  );
}
