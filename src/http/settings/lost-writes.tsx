import { Hono } from 'hono';
import { getOwnKey } from '../../services/keys/read-keys.ts';
import { endLostWritesOf, readUsesOfKey } from '../../services/keys/refused-uses.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { readForm, shownCount } from './forms.ts';
import { addressOf, pageContext, redirectWith } from './page-context.ts';
import { counted } from './pages/components.tsx';
import { ConfirmLostWrites, hasOpenLosses, type LostQuery } from './pages/lost-writes.tsx';
import { render, trail } from './render-page.tsx';

/** The page where an administrator says that the lost writes of a key are entered by hand. */
export const lostWrites = new Hono<AdminEnv>();

function queryOf(values: URLSearchParams): LostQuery {
  const [q, status, onKey] = ['q', 'status', 'onKey'].map((name) => values.get(name) ?? undefined);
  return { q, status, onKey };
}

const listPath = (keyId: string, { onKey, ...query }: LostQuery) =>
  onKey ? `/keys/${keyId}` : addressOf('/refused', query);

lostWrites.get('/keys/:key/lost-writes', async (c) => {
  const ctx = adminContext(c);
  const subject = await getOwnKey(ctx, c.req.param('key'));
  const query = queryOf(new URL(c.req.url).searchParams);
  const path = listPath(subject.id, query);
  const use = (await readUsesOfKey(ctx, subject.id)).find((one) => hasOpenLosses(one, ctx.now()));
  if (!use) return redirectWith(c, path, 'No lost write of this key is left to enter.', 'neutral');
  const page = <ConfirmLostWrites {...{ subject, use, query }} cancel={`${pageContext(c).base}${path}`} />;
  return render(c, 'Entered by hand?', page, { trail: trail(c, subject) });
});

lostWrites.post('/keys/:key/lost-writes', async (c) => {
  const ctx = adminContext(c);
  const { id, name } = await getOwnKey(ctx, c.req.param('key'));
  const form = await readForm(c);
  const seen = { count: shownCount(form, 'count'), lastAt: shownCount(form, 'lastAt') };
  const query = queryOf(form);
  if (await endLostWritesOf(ctx, id, seen))
    return redirectWith(
      c,
      listPath(id, query),
      `Marked as entered by hand: ${counted(seen.count, 'write')} of “${name}”.`,
    );
  const why = 'More writes were lost after you opened this page. Nothing was changed.';
  return redirectWith(c, addressOf(`/keys/${id}/lost-writes`, query), why, 'warning');
});
