import { Hono } from 'hono';
import { hasCode } from '../../domain/errors.ts';
import { identifyKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type FormState, readForm } from './forms.ts';
import { usePage } from './page-context.ts';
import { Banner, Hint, Scopes, State } from './pages/components.tsx';
import { Field } from './pages/form.tsx';
import { KeyActions } from './pages/key.tsx';
import { LastWrite } from './pages/key-facts.tsx';
import { render } from './render-page.tsx';

/** The page that identifies a key by its value or hint. It never shows the submitted value. */
export const whichKey = new Hono<AdminEnv>();

const TITLE = 'Which key is this?';

whichKey.get('/which-key', (c) => render(c, TITLE, <WhichKeyForm form={{ values: new URLSearchParams() }} />));

whichKey.post('/which-key', async (c) => {
  const pasted = (await readForm(c)).get('pasted') ?? '';
  const found = await identifyKey(adminContext(c), c.get('config').keyPrefix, pasted).catch((err: unknown) => {
    if (!hasCode(err, 'not_a_key')) throw err;
  });
  const result = found?.map((key) => <FoundKey subject={key} />) ?? (
    <Banner tone="warning">
      This is neither a complete key nor a hint. Part of it may be missing, or the key belongs to another system or
      environment.
    </Banner>
  );
  const page = (
    <>
      {found?.length === 0 ? <Banner tone="warning">Your organization does not have this key.</Banner> : result}
      <WhichKeyForm form={{ values: new URLSearchParams(), messages: {} }} />
    </>
  );
  return render(c, TITLE, page);
});

function FoundKey({ subject: key }: { subject: KeyDetails }) {
  const { base } = usePage();
  return (
    <section class="card" role="status">
      <p>
        This is{' '}
        <a href={`${base}/keys/${key.id}`}>
          <bdi>{key.name}</bdi>
        </a>{' '}
        (<Hint hint={key.hint} />) <State state={key.state} /> <Scopes scopes={key.scopes} />
      </p>
      <p>
        Last write: <LastWrite subject={key} />
      </p>
      <div class="actions">
        <KeyActions subject={key} />
      </div>
    </section>
  );
}

function WhichKeyForm({ form }: { form: FormState }) {
  const { base } = usePage();
  return (
    <form method="post" action={`${base}/which-key`} class="form">
      <Field
        name="pasted"
        form={form}
        control="line"
        label="Key or hint"
        required
        help="Did you find a key in a workflow or a log? Paste it here to see which key it is. Only its hash is compared, and the value is not stored."
      />
      <div class="actions">
        <button type="submit">Find key</button>
      </div>
    </form>
  );
}
