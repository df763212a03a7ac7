import type { Rotation, Workflow } from '../../../services/keys/key-workflows.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { stateInList } from '../../../services/keys/select-keys.ts';
import { Cancel, HiddenFields, State, Table, type TableColumn } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { Ago } from './time.tsx';
import { CurrentWorkflows } from './workflows.tsx';

interface Props {
  keys: readonly KeyDetails[];
  /** What each key is used by, unless there are too many keys. */
  uses: ReadonlyMap<string, { workflows: readonly Workflow[]; rotation: Rotation | undefined }> | undefined;
  action: string;
  /** Sent with the form. */
  fields?: readonly (readonly [name: string, value: string])[];
  button: string;
  cancel: string;
}

const usedBy = (uses: NonNullable<Props['uses']>): TableColumn<KeyDetails> => [
  'Workflows',
  ({ id }) => {
    const use = uses.get(id);
    return (
      use && (
        <div>
          <CurrentWorkflows keyId={id} {...use} />
        </div>
      )
    );
  },
];

const LastUse = ({ at, from }: NonNullable<KeyDetails['lastWrite']>) => (
  <div>
    <Ago at={at} />
    <From address={from} />
  </div>
);

const OWNER: TableColumn<KeyDetails> = ['Owner', ({ owner }) => <bdi>{owner || '–'}</bdi>];

/** Asks for confirmation before keys are revoked. */
export function ConfirmRevocation({ keys, uses, action, fields = [], button, cancel }: Props) {
  return (
    <form method="post" action={action}>
      <p>
        Requests with {keys.length === 1 ? 'this key' : 'these keys'} are then refused immediately. This cannot be
        undone.
      </p>
      <HiddenFields fields={fields} />
      <Table
        caption={keys.length === 1 ? 'Key to revoke' : 'Keys to revoke'}
        kind="ending"
        columns={[
          ['Key', (key) => <KeyName subject={key} />],
          ['State', (key) => <State state={stateInList(key)} />],
          ['Last write', ({ lastWrite }) => (lastWrite ? <LastUse {...lastWrite} /> : 'Never')],
          ...(uses ? [usedBy(uses)] : []),
          ...(keys.some(({ owner }) => owner !== '') ? [OWNER] : []),
        ]}
        rows={keys}
      />
      <div class="actions">
        <button type="submit" class="danger">
          {button}
        </button>
        <Cancel to={cancel} />
      </div>
    </form>
  );
}
