import { RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { type Scope, writableKinds } from '../../../domain/scopes.ts';
import type { CreatedKey } from '../../../services/keys/create-key.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { PageContext } from '../page-context.ts';
import { Hint, LinkButton, Notice } from './components.tsx';
import { Expiry } from './time.tsx';

interface Props {
  context: PageContext;
  created: CreatedKey;
  scopes: readonly Scope[];
  /** The origin of this deployment, such as https://api.example. */
  origin: string;
  /** The key that this one replaces, after a rotation. */
  replaced?: KeyDetails | undefined;
}

/** Shows the value of a new key. This is the only page that shows it. */
export function NewKeyPage({ context, created, scopes, origin, replaced }: Props) {
  const { name, value, id } = created;
  return (
    <>
      <Notice tone="warning">
        Copy the key now. You can’t see it again after you leave this page. If you lose the key, rotate it.
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
      <p>Check that the key works:</p>
      <Command>{`curl ${origin}/api/v1/ping -H 'Authorization: Bearer ${value}'`}</Command>
      {writableKinds(scopes).map((kind) => {
        const { path, example } = RECORD_KINDS[kind];
        return (
          <>
            <p>{example.purpose} (replace TICKET with a ticket ID):</p>
            <Command>{post(origin, value, path, JSON.stringify(example.body))}</Command>
          </>
        );
      })}
      <p class="minor">
        Build the Idempotency-Key from the name of your workflow and the ID of the event. A retry with the same
        Idempotency-Key never writes twice.
      </p>
      <h2>Where to enter the key</h2>
      <dl class="places">
        <dt>n8n</dt>
        <dd>
          HTTP Request node: set Authentication to “Generic Credential Type” and then “Bearer Auth”. Enter only the key.
        </dd>
        <dt>Make</dt>
        <dd>HTTP module: add the header Authorization with the value “Bearer”, a space, and the key.</dd>
        <dt>Zapier</dt>
        <dd>
          Webhooks by Zapier, Custom Request: add the header Authorization with the value “Bearer”, a space, and the
          key.
        </dd>
        <dt>Power Automate</dt>
        <dd>
          HTTP action: add the header Authorization with the value “Bearer”, a space, and the key. Turn on “Secure
          inputs”.
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
      This key replaces <Hint hint={old.hint} />,{' '}
      {old.state === 'revoked' ? (
        'which is revoked.'
      ) : (
        <>
          which keeps working until <Expiry of={old} context={context} />.
        </>
      )}
    </p>
  );
}

function Command({ children }: { children: string }) {
  return (
    // Focusable, so that the arrow keys can scroll a long line.
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

/** The page for a form that already created a key. Its value cannot be shown again. */
export function AlreadyCreatedPage({ context, created }: { context: PageContext; created: KeyDetails }) {
  return (
    <>
      <Notice tone="warning">
        This form already created the key <bdi>{created.name}</bdi> (<Hint hint={created.hint} />
        ), so no second key was created. The value was shown once and can’t be shown again. If you did not copy it,
        rotate the key. If you do not need the key, revoke it.
      </Notice>
      <div class="actions">
        <LinkButton to={`${context.base}/keys/${created.id}/rotate`}>Rotate</LinkButton>
        <LinkButton to={`${context.base}/keys/${created.id}/revoke`} kind="danger">
          Revoke
        </LinkButton>
        <a href={`${context.base}/keys/${created.id}`}>View the key</a>
      </div>
    </>
  );
}
