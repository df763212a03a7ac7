import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { usePage } from '../page-context.ts';
import { Banner, Hint, Scopes, State } from './components.tsx';
import { KeyActions } from './key.tsx';
import { LastWrite } from './key-facts.tsx';

/**
 * The form to identify a key by its value or hint, with the result. The page never shows the
 * submitted value.
 */
export function WhichKeyPage({ found }: { found: readonly KeyDetails[] | 'not_a_key' | undefined }) {
  const { base } = usePage();
  return (
    <>
      {found === 'not_a_key' && (
        <Banner tone="warning">
          This is neither a complete key nor a hint. Part of it may be missing, or the key belongs to another system or
          environment.
        </Banner>
      )}
      {found !== undefined && found !== 'not_a_key' && found.length === 0 && (
        <Banner tone="warning">Your organization does not have this key.</Banner>
      )}
      {found !== undefined &&
        found !== 'not_a_key' &&
        found.map((key) => (
          <section class="card" role="status">
            <p>
              This is{' '}
              <a href={`${base}/keys/${key.id}`}>
                <bdi>{key.name}</bdi>
              </a>{' '}
              (<Hint hint={key.hint} />) <State state={key.state} /> <Scopes scopes={key.scopes} />
            </p>
            <p>
              Last write: <LastWrite of={key} />
            </p>
            <div class="actions">
              <KeyActions subject={key} />
            </div>
          </section>
        ))}
      <form method="post" action={`${base}/which-key`} class="form">
        <div class="field">
          <label for="pasted">Key or hint</label>
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
            Did you find a key in a workflow or a log? Paste it here to see which key it is. Only its hash is compared,
            and the value is not stored.
          </p>
        </div>
        <div class="actions">
          <button type="submit">Find key</button>
        </div>
      </form>
    </>
  );
}
