import { zValidator } from '@hono/zod-validator';
import { Hono } from 'hono';
import * as z from 'zod/mini';
import { beginningOfHint, brokenKeys, isLive, KEY_LENGTH } from '../../domain/api-key.ts';
import { identifyKeys, type KeyDetails } from '../../services/keys/read-keys.ts';
import { stateInList } from '../../services/keys/select-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import type { FormState } from './forms.ts';
import { keyListPath } from './key-query.ts';
import { pageContext, redirectWith, usePage } from './page-context.ts';
import { Banner, Hint, State, Table, type TableColumn } from './pages/components.tsx';
import { Field } from './pages/form.tsx';
import { EndKey } from './pages/key.tsx';
import { KeyName, LastWrite } from './pages/key-facts.tsx';
import { render, trail } from './render-page.tsx';

/** The page that leads from a text with keys to their pages. Of the submitted text it shows hints, and how keys begin. */
export const whichKey = new Hono<AdminEnv>();

/** How many beginnings of keys it links. */
const MAX_BEGINNINGS = 20;
const TITLE = 'Which key is this?';

whichKey.get('/which-key', (c) =>
  render(c, TITLE, <WhichKeyForm form={{ values: new URLSearchParams() }} />, { trail: trail(c) }),
);

whichKey.post('/which-key', zValidator('form', z.object({ pasted: z.catch(z.string(), '') })), async (c) => {
  const { pasted } = c.req.valid('form');
  const { keyPrefix } = c.get('config');
  const found = await identifyKeys(adminContext(c), keyPrefix, pasted);
  const keys = [...new Map(found.flatMap((one) => one.keys).map((key) => [key.id, key])).values()];
  const [key] = keys;
  const notFound = found.filter((one) => one.keys.length === 0);
  const foreign = notFound.filter(({ isWhole }) => isWhole).map(({ hint }) => hint);
  const unknown = notFound.filter(({ isWhole }) => !isWhole).map(({ hint }) => hint);
  const broken = brokenKeys(pasted, keyPrefix, found.length > 0);
  const cut = [...unknown, ...broken];
  if (key && keys.length === 1 && notFound.length + broken.length === 0)
    return redirectWith(c, `/keys/${key.id}`, `This key was in the text. ${adviceFor(key)}`, 'neutral');
  const page = (
    <>
      {found.length + broken.length === 0 && (
        <Banner tone="warning">
          No key or hint of this service is in this text. They begin with <code>{keyPrefix}_</code> and 4 characters.
        </Banner>
      )}
      {foreign.length > 0 && (
        <Banner tone="warning">
          Your organization does not have {foreign.length === 1 ? 'this key' : 'these keys'}: {hintsOf(foreign)}.
        </Banner>
      )}
      {unknown.length > 0 && (
        <Banner tone="warning">
          No key of yours has {unknown.length === 1 ? 'this hint' : 'these hints'}: {hintsOf(unknown)}. If these are the
          first and last characters of a key, search for it by its beginning.
        </Banner>
      )}
      {broken.length > 0 && (
        <Banner tone="warning">
          {broken.length} {found.length > 0 && 'more '}
          {broken.length === 1 ? 'value is' : 'values are'} cut or mistyped: a key has {KEY_LENGTH} characters after{' '}
          <code>{keyPrefix}_</code>.
        </Banner>
      )}
      {cut.length > 0 && (
        <p>
          Search your keys by their beginning:{' '}
          {[...new Set(cut.map((one) => beginningOfHint(one, keyPrefix)))]
            .slice(0, MAX_BEGINNINGS)
            .map((one, index) => [
              index > 0 && ', ',
              <a href={keyListPath(pageContext(c).base, { q: one, state: 'all' })}>{one}</a>,
            ])}
        </p>
      )}
      {keys.length > 0 && (
        <p>Your keys in the text: {keys.length}. If others may have seen it, rotate or revoke each that works.</p>
      )}
      {keys.length > 0 && <Table caption="Keys in the text" columns={COLUMNS} rows={keys} />}
      <WhichKeyForm form={{ values: new URLSearchParams(), messages: {} }} />
    </>
  );
  return render(c, TITLE, page, { trail: trail(c) });
});

const hintsOf = (hints: readonly string[]) => hints.map((hint, index) => [index > 0 && ', ', <Hint hint={hint} />]);

/** What to do with a key that others may have seen, with the names of the buttons of its page. */
function adviceFor({ state, successor }: KeyDetails): string {
  if (!isLive(state)) return 'It no longer works.';
  const way = successor
    ? 'choose Revoke now on this page: its successor is not affected.'
    : 'choose Rotate or Revoke on this page.';
  return `If others may have seen it, ${way}`;
}

const COLUMNS: readonly TableColumn<KeyDetails>[] = [
  ['Key', (key) => <KeyName subject={key} />],
  ['State', (key) => <State state={stateInList(key)} />],
  ['Last write', (key) => <LastWrite subject={key} />],
  [
    'Actions',
    (key) =>
      key.state === 'revoked' ? (
        <span class="dash">–</span>
      ) : (
        <div class="actions">
          <EndKey subject={key} />
        </div>
      ),
  ],
];

function WhichKeyForm({ form }: { form: FormState }) {
  const { base } = usePage();
  return (
    <form method="post" action={`${base}/which-key`} class="form">
      <Field
        name="pasted"
        form={form}
        control="lines"
        label="Key, hint or text with keys"
        required
        help="Paste the line, header or file: every key in it is found. Only hashes are compared, and the text is not stored."
      />
      <div class="actions">
        <button type="submit">Find keys</button>
      </div>
    </form>
  );
}
