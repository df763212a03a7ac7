import { Hono } from 'hono';
import { CSV_SETTINGS } from '../../domain/key-settings.ts';
import { containsKey } from '../../domain/pasted-keys.ts';
import { listKeys } from '../../services/keys/list-keys.ts';
import { everyKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { isPlainList, readKeyQuery } from './key-query.ts';
import { todayOf } from './page-context.ts';
import { scopeList, stateLabel } from './pages/components.tsx';
import { KeyListActions, KeyListLead, KeyListPage, keyListTitle } from './pages/key-list-page.tsx';
import { render } from './render-page.tsx';

export const keyList = new Hono<AdminEnv>();

keyList.get('/keys', async (c) => {
  const { keyPrefixes, dayLimits, dayChanges, receiver } = c.get('config');
  const parameters = new URL(c.req.url).searchParams;
  const searchedKey = containsKey(parameters.get('q') ?? '', keyPrefixes);
  if (searchedKey) parameters.delete('q');
  const query = readKeyQuery(parameters);
  const today = todayOf(c);
  const factOptions = isPlainList(query) ? { isPushed: receiver !== undefined, dayLimits } : undefined;
  const list = await listKeys(adminContext(c), query, today, factOptions);
  const { hasPsa } = c.get('administrator').organization;
  const allRevoked = parameters.get('done') === 'all_revoked' && list.counts.live === 0;
  const revoked = /^\d{1,3}$/.test(parameters.get('revoked') ?? '') ? Number(parameters.get('revoked')) : 0;
  const page = { list, query, hasPsa, allRevoked, revoked, searchedKey };
  return render(c, keyListTitle(query), <KeyListPage {...page} />, {
    lead: <KeyListLead list={list} today={today} dayLimit={dayLimits.organization} dayChanges={dayChanges} />,
    actions: <KeyListActions list={list} />,
  });
});

const COLUMNS: readonly Column<KeyDetails>[] = [
  ['Name', ({ name }) => name],
  ['Hint', ({ hint }) => hint],
  ['Scopes', ({ scopes }) => scopeList(scopes)],
  ['State', ({ state }) => stateLabel(state)],
  { time: 'Created', timeOf: ({ createdAt }) => createdAt },
  ['Created by', ({ createdBy }) => createdBy],
  ['Creator active', ({ creatorActive }) => (creatorActive ? 'yes' : 'no')],
  { time: 'Last write', timeOf: ({ lastWrite }) => lastWrite?.at ?? null },
  ['Last write from', ({ lastWrite }) => lastWrite?.from ?? null],
  { time: 'Expires', timeOf: ({ expiresAt }) => expiresAt },
  { time: 'Revoked', timeOf: ({ revokedAt }) => revokedAt },
  ['Revoked by', ({ revokedBy }) => revokedBy],
  ['Replaced by', ({ successor }) => successor?.hint ?? null],
  ...CSV_SETTINGS.map(({ name, csv }): Column<KeyDetails> => [csv, (key) => key[name]]),
];

keyList.get('/keys.csv', (c) => {
  const pages = everyKey(adminContext(c), c.req.query('before'));
  return csvDownload(c, { name: fileName(c, 'api-keys'), columns: COLUMNS, pages });
});
