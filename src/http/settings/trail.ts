import type { KeyDetails } from '../../services/keys/read-keys.ts';
import type { AdminEnv, ContextOf } from '../context.ts';
import { pageContext } from './page-context.ts';
import type { PageHead } from './pages/layout.tsx';

/** The way back from a page below the list of keys, and from one below the page of a key. */
export function trail(c: ContextOf<AdminEnv>, key?: KeyDetails): NonNullable<PageHead['trail']> {
  const { base } = pageContext(c);
  const list = { href: `${base}/keys`, text: 'All keys' };
  return key ? [list, { href: `${base}/keys/${key.id}`, text: key.name }] : [list];
}
