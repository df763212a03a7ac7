import type { PropsWithChildren } from 'hono/jsx';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { stateInList } from '../../../services/keys/select-keys.ts';
import { HiddenFields, State, Table, type TableColumn } from './components.tsx';
import { KeyName, LastWrite } from './key-facts.tsx';

interface Props {
  keys: readonly KeyDetails[];
  action: string;
  /** Sent with the form. */
  fields?: readonly (readonly [name: string, value: string])[];
  button: string;
  cancel?: string;
  /** What else the table says about each key, after its name. */
  columns?: readonly TableColumn<KeyDetails>[];
  isRevocation?: boolean;
}

/** Asks for confirmation before keys are changed or revoked, with the fields of the change above them. */
export function ConfirmKeys({
  keys,
  action,
  fields = [],
  button,
  cancel,
  columns = [],
  isRevocation = false,
  children,
}: PropsWithChildren<Props>) {
  return (
    <form method="post" action={action}>
      {isRevocation && (
        <p>
          Requests with {keys.length === 1 ? 'this key' : 'these keys'} are then refused immediately. This cannot be
          undone.
        </p>
      )}
      <HiddenFields fields={fields} />
      {children && <div class="form card">{children}</div>}
      <Table
        caption="Keys to change"
        columns={[
          ['Key', (key) => <KeyName subject={key} />],
          ...columns,
          ['State', (key) => <State state={stateInList(key)} />],
          ['Last write', (key) => <LastWrite subject={key} />],
          ...(isRevocation ? [['Owner', ({ owner }: KeyDetails) => <bdi>{owner || '–'}</bdi>] as const] : []),
        ]}
        rows={keys}
      />
      <div class="actions">
        <button type="submit" class={isRevocation ? 'danger' : undefined}>
          {button}
        </button>
        {cancel && <a href={cancel}>Cancel</a>}
      </div>
    </form>
  );
}
