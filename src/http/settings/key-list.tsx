import { Hono } from 'hono';
import { KEY_SETTING_NAMES, keySetting } from '../../domain/key-settings.ts';
import { containsKey } from '../../domain/pasted-keys.ts';
import { listKeys } from '../../services/keys/list-keys.ts';
import { everyKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { type AdminEnv, adminContext } from '../context.ts';
import { csvDownload, fileName, readSeparator, type TimeCells, timeCellsIn, timeHeadings } from './download.ts';
import { isPlainList, readKeyQuery } from './key-query.ts';
import { pageContext, todayOf } from './page-context.ts';
import { scopeList, stateLabel } from './pages/components.tsx';
import { KeyListActions, KeyListLead, KeyListPage } from './pages/key-list.tsx';
import { render } from './render.tsx';

/** The list of keys, as a page and as a CSV download. */
export const keyList = new Hono<AdminEnv>();

keyList.get('/keys', async (c) => {
  const { keyPrefixes, dayLimits, dayChanges, receiver } = c.get('config');
  const parameters = new URL(c.req.url).searchParams;
  const searchedKey = containsKey(parameters.get('q') ?? '', keyPrefixes);
  if (searchedKey) parameters.delete('q');
  const query = readKeyQuery(parameters);
  const [context, today] = [pageContext(c), todayOf(c)];
  const factOptions = isPlainList(query) ? { isPushed: receiver !== undefined, dayLimits } : undefined;
  const list = await listKeys(adminContext(c), query, today, factOptions);
  const { hasPsa } = c.get('administrator').organization;
  const allRevoked = parameters.get('done') === 'all_revoked' && list.counts.live === 0;
  const page = {
    list,
    query,
    context,
    hasPsa,
    allRevoked,
    searchedKey,
  };
  return render(c, 'API keys', <KeyListPage {...page} />, {
    lead: <KeyListLead list={list} today={today} dayLimit={dayLimits.organization} dayChanges={dayChanges} />,
    actions: <KeyListActions list={list} context={context} />,
  });
});

keyList.get('/keys.csv', (c) => {
  const { timeZone } = c.get('administrator').organization;
  const headings = [
    'Name',
    'Hint',
    'Scopes',
    'State',
    ...timeHeadings('Created', timeZone),
    'Created by',
    'Creator active',
    ...timeHeadings('Last write', timeZone),
    'Last write from',
    ...timeHeadings('Expires', timeZone),
    ...timeHeadings('Revoked', timeZone),
    'Revoked by',
    'Replaced by',
    ...IN_CSV.map(({ csv }) => csv),
  ];
  return csvDownload(c, {
    name: fileName(c, 'api-keys'),
    headings,
    pages: everyKey(adminContext(c), c.req.query('before')),
    toCells: keyCells(timeCellsIn(timeZone)),
    separator: readSeparator(c),
  });
});

/** The settings with a column of the file. */
const IN_CSV = KEY_SETTING_NAMES.flatMap((name) => {
  const { csv } = keySetting(name);
  return csv === undefined ? [] : [{ name, csv }];
});

const keyCells = (timeCells: TimeCells) => (key: KeyDetails) => [
  key.name,
  key.hint,
  scopeList(key.scopes),
  stateLabel(key.state),
  ...timeCells(key.createdAt),
  key.createdBy,
  key.creatorActive ? 'yes' : 'no',
  ...timeCells(key.lastWrite?.at ?? null),
  key.lastWrite?.from ?? null,
  ...timeCells(key.expiresAt),
  ...timeCells(key.revokedAt),
  key.revokedBy,
  key.successor?.hint ?? null,
  ...IN_CSV.map(({ name }) => key[name]),
];
