import { zValidator } from '@hono/zod-validator';
import { Hono } from 'hono';
import * as z from 'zod';
import { hasCode } from '../../domain/errors.ts';
import { identifyKey } from '../../services/keys/read-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import type { FormState } from './forms.ts';
import { keyListPath } from './key-query.ts';
import { redirectWith, usePage } from './page-context.ts';
import { Banner } from './pages/components.tsx';
import { Field } from './pages/form.tsx';
import { render } from './render-page.tsx';

/** The page that leads from the value or hint of a key to its page. It never shows the submitted value. */
export const whichKey = new Hono<AdminEnv>();

const TITLE = 'Which key is this?';

whichKey.get('/which-key', (c) => render(c, TITLE, <WhichKeyForm form={{ values: new URLSearchParams() }} />));

whichKey.post('/which-key', zValidator('form', z.object({ pasted: z.string().catch('') })), async (c) => {
  const { pasted } = c.req.valid('form');
  const found = await identifyKey(adminContext(c), c.get('config').keyPrefix, pasted).catch((err: unknown) => {
    if (!hasCode(err, 'not_a_key')) throw err;
  });
  const [key, ...others] = found ?? [];
  if (key && others.length > 0)
    return redirectWith(c, keyListPath('', { q: key.hint, state: 'all' }), 'Several keys have this hint.');
  if (key) return redirectWith(c, `/keys/${key.id}`, 'This is the key that you entered.');
  const page = (
    <>
      <Banner tone="warning">
        {found
          ? 'Your organization does not have this key.'
          : 'This is neither a complete key nor a hint. Part of it may be missing, or the key belongs to another system or environment.'}
      </Banner>
      <WhichKeyForm form={{ values: new URLSearchParams(), messages: {} }} />
    </>
  );
  return render(c, TITLE, page);
});

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
