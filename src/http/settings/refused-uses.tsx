import { Hono } from 'hono';
import { everyRefusedUse, listRefusedUses, type RefusedUse } from '../../services/keys/refused-uses.ts';
import { type AdminEnv, adminContext } from '../context.ts';
import { csvDownload, fileName, readSeparator, type TimeCells, timeCellsIn, timeHeadings } from './download.ts';
import { pageContext } from './page-context.ts';
import { REFUSAL_REASONS, RefusedUsesPage } from './pages/refused-uses.tsx';
import { render } from './render.tsx';

/** The refused uses, as a page and as a CSV download. */
export const refusedUses = new Hono<AdminEnv>();

refusedUses.get('/refused', async (c) => {
  const uses = await listRefusedUses(adminContext(c));
  return render(c, 'Refused uses', <RefusedUsesPage uses={uses} context={pageContext(c)} />);
});

refusedUses.get('/refused.csv', (c) => {
  const { timeZone } = c.get('administrator').organization;
  const headings = [
    'Key',
    'Key hint',
    'Reason',
    'Count, at least',
    ...timeHeadings('First', timeZone),
    ...timeHeadings('Last', timeZone),
    'Last from',
  ];
  return csvDownload(c, {
    name: fileName(c, 'refused-uses'),
    headings,
    pages: everyRefusedUse(adminContext(c), c.req.query('before')),
    toCells: refusedCells(timeCellsIn(timeZone)),
    separator: readSeparator(c),
  });
});

const refusedCells = (timeCells: TimeCells) => (use: RefusedUse) => [
  use.key.name,
  use.key.hint,
  REFUSAL_REASONS[use.reason],
  use.count,
  ...timeCells(use.firstAt),
  ...timeCells(use.lastAt),
  use.sourceAddress,
];
