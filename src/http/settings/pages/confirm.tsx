import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { stateInList } from '../../../services/keys/select-keys.ts';
import { counted, HiddenFields, State, Table, type TableColumn } from './components.tsx';
import { KeyName, LastWrite } from './key-facts.tsx';

const COLUMNS: readonly TableColumn<KeyDetails>[] = [
  ['Key', ({ id, name }) => <KeyName subject={{ id, name }} />],
  ['State', (key) => <State state={stateInList(key)} />],
  ['Last write', (key) => <LastWrite subject={key} />],
  ['Owner', ({ owner }) => <bdi>{owner || '–'}</bdi>],
];

interface Props {
  keys: readonly KeyDetails[];
  action: string;
  fields?: readonly (readonly [name: string, value: string])[];
  button?: string;
  cancel?: string;
}

/** Asks for confirmation before keys are revoked. `fields` are sent with the form. */
export function ConfirmRevoke({ keys, action, fields = [], button, cancel }: Props) {
  return (
    <>
      <p>
        Requests with {keys.length === 1 ? 'this key' : 'these keys'} are then refused immediately. This cannot be
        undone.
      </p>
      <Table caption="Keys to revoke" columns={COLUMNS} rows={keys} />
      <form method="post" action={action} class="actions">
        <HiddenFields fields={fields} />
        <button type="submit" class="danger">
          {button ?? (keys.length === 1 ? 'Revoke' : `Revoke ${counted(keys.length, 'key')}`)}
        </button>
        {cancel && <a href={cancel}>Cancel</a>}
      </form>
    </>
  );
}
