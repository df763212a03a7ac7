import type { Scope } from '../../../domain/scopes.ts';
import type { CreatedKey } from '../../../services/keys/create-key.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { usePage } from '../page-context.ts';
import { Banner, Hint, LinkButton } from './components.tsx';
import { Expiry } from './time.tsx';
import { TryKey } from './try-key.tsx';

interface Props {
  created: CreatedKey;
  scopes: readonly Scope[];
  /** The origin of this deployment, such as https://api.example. */
  origin: string;
  /** The key that this one replaces, after a rotation. */
  replaced?: KeyDetails | undefined;
}

/** Shows the value of a new key. This is the only page that shows it. */
export function NewKeyPage({ created, scopes, origin, replaced }: Props) {
  const { base } = usePage();
  const { name, value, id } = created;
  return (
    <>
      <Banner tone="warning">
        Copy the key now. You can’t see it again after you leave this page. If you lose the key, rotate it.
      </Banner>
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
          Expires: <Expiry of={created} />
        </p>
      </section>
      {replaced && <Replaced old={replaced} />}
      <h2>Use it</h2>
      <TryKey scopes={scopes} origin={origin} />
      <p>
        <a href={`${base}/keys/${id}`}>Done: go to the key’s page</a>
      </p>
    </>
  );
}

function Replaced({ old }: { old: KeyDetails }) {
  return (
    <p>
      This key replaces <Hint hint={old.hint} />,{' '}
      {old.state === 'revoked' ? (
        'which is revoked.'
      ) : (
        <>
          which keeps working until <Expiry of={old} />.
        </>
      )}
    </p>
  );
}

/** The page for a form that already created a key. Its value cannot be shown again. */
export function AlreadyCreatedPage({ created }: { created: KeyDetails }) {
  const { base } = usePage();
  return (
    <>
      <Banner tone="warning">
        This form already created the key <bdi>{created.name}</bdi> (<Hint hint={created.hint} />
        ), so no second key was created. The value was shown once and can’t be shown again. If you did not copy it,
        rotate the key. If you do not need the key, revoke it.
      </Banner>
      <div class="actions">
        <LinkButton to={`${base}/keys/${created.id}/rotate`}>Rotate</LinkButton>
        <LinkButton to={`${base}/keys/${created.id}/revoke`} kind="danger">
          Revoke
        </LinkButton>
        <a href={`${base}/keys/${created.id}`}>View the key</a>
      </div>
    </>
  );
}
