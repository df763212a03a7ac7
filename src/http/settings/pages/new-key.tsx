import { RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { type Scope, writableKinds } from '../../../domain/scopes.ts';
import type { CreatedKey } from '../../../services/keys/create-key.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { PageContext } from '../page-context.ts';
import { Expiry, Hint, LinkButton, Notice } from './components.tsx';

interface Props {
  context: PageContext;
  created: CreatedKey;
  scopes: readonly Scope[];
  /** The address of this deployment, such as https://api.example. */
  origin: string;
  /** The key that this one replaces. */
  replaced?: KeyDetails | undefined;
}

/** A key in full, for the one time that it is shown. */
export function NewKeyPage({ context, created, scopes, origin, replaced }: Props) {
  const { name, value, id } = created;
  return (
    <>
      <Notice>
        Copy the key now. It can’t be shown again: only its fingerprint is kept. If it gets lost, rotate it.
      </Notice>
      <section class="secret" aria-labelledby="key-heading">
        <h2 id="key-heading">
          <bdi>{name}</bdi>
        </h2>
        <code id="key" class="value">
          {value}
        </code>
        <div class="actions">
          <button type="button" data-copy="key" hidden>
            Copy
          </button>
          <button type="button" class="quiet" data-test="key" hidden>
            Test this key
          </button>
          <output aria-live="polite" id="result"></output>
        </div>
        <p class="minor">
          Expires: <Expiry of={created} context={context} />
        </p>
      </section>
      {replaced && <Replaced old={replaced} context={context} />}
      <h2>Try it</h2>
      <p>Check that the key is right:</p>
      <Command>{`curl ${origin}/api/v1/ping -H 'Authorization: Bearer ${value}'`}</Command>
      {writableKinds(scopes).map((kind) => {
        const { path, example } = RECORD_KINDS[kind];
        return (
          <>
            <p>{example.purpose} (put a ticket’s id in place of TICKET):</p>
            <Command>{post(origin, value, path, JSON.stringify(example.body))}</Command>
          </>
        );
      })}
      <p class="minor">
        Make the Idempotency-Key from your workflow’s name and the event’s id: sent twice, it never writes twice.
      </p>
      <h2>Where it goes</h2>
      <dl class="places">
        <dt>n8n</dt>
        <dd>HTTP Request node, Authentication “Generic Credential Type”, “Bearer Auth”: the key only.</dd>
        <dt>Make</dt>
        <dd>HTTP module, header Authorization with the value “Bearer”, a space, and the key.</dd>
        <dt>Zapier</dt>
        <dd>Webhooks by Zapier, Custom Request, header Authorization with the value “Bearer”, a space, and the key.</dd>
        <dt>Power Automate</dt>
        <dd>
          HTTP action, header Authorization with the value “Bearer”, a space, and the key; switch on “Secure inputs”.
        </dd>
      </dl>
      <p>
        <a href={`${context.base}/keys/${id}`}>Done: go to the key’s page</a>
      </p>
    </>
  );
}

function Replaced({ old, context }: { old: KeyDetails; context: PageContext }) {
  return (
    <p>
      It replaces <Hint hint={old.hint} />,{' '}
      {old.state === 'revoked' ? (
        'which is revoked.'
      ) : (
        <>
          which works until <Expiry of={old} context={context} />.
        </>
      )}
    </p>
  );
}

function Command({ children }: { children: string }) {
  return (
    // A long line scrolls; with the focus on it, the arrow keys do.
    <pre tabindex={0}>
      <code>{children}</code>
    </pre>
  );
}

function post(origin: string, value: string, path: string, body: string): string {
  const headers = [
    `Authorization: Bearer ${value}`,
    'Content-Type: application/json',
    `Idempotency-Key: my-workflow:${path}-1`,
  ];
  return `curl ${origin}/api/v1/tickets/TICKET/${path} ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${body}'`;
}

/** The page for a form that has created a key already: the value is gone, but there is something to do. */
export function AlreadyCreatedPage({ context, created }: { context: PageContext; created: KeyDetails }) {
  return (
    <>
      <Notice tone="warning">
        This form has created the key <bdi>{created.name}</bdi> (<Hint hint={created.hint} />) already, so no second one
        was created. Its value was shown once and can’t be shown again. If nobody copied it, rotate the key; if it isn’t
        needed, revoke it.
      </Notice>
      <div class="actions">
        <LinkButton to={`${context.base}/keys/${created.id}/rotate`}>Rotate</LinkButton>
        <LinkButton to={`${context.base}/keys/${created.id}/revoke`} kind="danger">
          Revoke
        </LinkButton>
        <a href={`${context.base}/keys/${created.id}`}>Look at the key</a>
      </div>
    </>
  );
}
