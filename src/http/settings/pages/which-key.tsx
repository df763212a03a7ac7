import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { PageContext } from '../page-context.ts';
import { Hint, Notice, State, scopeList } from './components.tsx';

/** Names the key that a pasted value or hint belongs to. The value is never put back on the page. */
export function WhichKeyPage({
  context,
  found,
}: {
  context: PageContext;
  found: readonly KeyDetails[] | 'not_a_key' | undefined;
}) {
  return (
    <>
      {found === 'not_a_key' && (
        <Notice tone="warning">
          This is neither a complete key nor a hint. A piece may be missing, or the key belongs to another system or
          environment.
        </Notice>
      )}
      {found !== undefined && found !== 'not_a_key' && found.length === 0 && (
        <Notice tone="warning">Your organization has no such key.</Notice>
      )}
      {found !== undefined &&
        found !== 'not_a_key' &&
        found.map((key) => (
          <Notice>
            This is{' '}
            <a href={`${context.base}/keys/${key.id}`}>
              <bdi>{key.name}</bdi>
            </a>{' '}
            (<Hint hint={key.hint} />
            ), {scopeList(key.scopes)}: <State state={key.state} />
          </Notice>
        ))}
      <form method="post" action={`${context.base}/which-key`} class="form">
        <div class="field">
          <label for="pasted">A key, or the hint of one</label>
          <input
            id="pasted"
            name="pasted"
            type="text"
            required
            autocomplete="off"
            spellcheck={false}
            aria-describedby="pasted-help"
          />
          <p class="help" id="pasted-help">
            Found a key in a workflow or a log? Paste it here to learn which it is. It is compared by its fingerprint
            and not kept.
          </p>
        </div>
        <div class="actions">
          <button type="submit">Find the key</button>
        </div>
      </form>
    </>
  );
}
