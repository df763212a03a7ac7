import { Hono } from 'hono';
import { listRefusedUses } from '../../services/keys/refused-uses.ts';
import { type AdminEnv, adminContext } from '../context.ts';
import { pageContext } from './page-context.ts';
import { RefusedUsesPage } from './pages/refused-uses.tsx';
import { render } from './render.tsx';

/** The page of refused uses. */
export const refusedUses = new Hono<AdminEnv>().get('/refused', async (c) => {
  const uses = await listRefusedUses(adminContext(c));
  return render(c, 'Refused uses', <RefusedUsesPage uses={uses} context={pageContext(c)} />);
});
