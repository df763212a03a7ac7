import { type Context, Hono } from 'hono';
import { dateIn } from '../../domain/calendar.ts';
import { CSV_SETTINGS } from '../../domain/key-settings.ts';
import { type KeyList, listKeys } from '../../services/keys/list-keys.ts';
import { everyKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import { KEY_NOTES, type KeyQuery, keyQuery, noteOf } from '../../services/keys/select-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { tileOf } from './fact-tiles.ts';
import { isPlainList } from './key-query.ts';
import { factOptions, todayOf } from './page-context.ts';
import { formatNumber, scopeList, stateLabel } from './pages/components.tsx';
import { Actions, KeyListPage, Lead, STATES } from './pages/key-list.tsx';
import { render } from './render-page.tsx';
import { validFile, validQuery } from './valid-query.ts';

export const keyList = new Hono<AdminEnv>();

keyList.get('/keys', validQuery(keyQuery), (c) => renderKeyList(c, c.req.valid('query')));

/** Responds with the list; with the reason and the selection, if the revocation of selected keys was `refused`. */
export async function renderKeyList(
  c: Context<AdminEnv>,
  query: KeyQuery,
  refused?: Parameters<typeof KeyListPage>[0]['refused'],
) {
  const { dayLimits } = c.get('config');
  const today = todayOf(c);
  const list = await listKeys(adminContext(c), query, today, factOptions(c));
  const { hasPsa, timeZone } = c.get('administrator').organization;
  return render(c, titleOf(list, query, timeZone), <KeyListPage {...{ list, query, hasPsa, refused }} />, {
    lead: <Lead {...{ list, today, dayLimits }} />,
    actions: <Actions list={list} />,
    ...(refused && { status: 400, hasErrors: true }),
  });
}

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

keyList.get('/keys.csv', validFile, (c) => {
  const pages = everyKey(adminContext(c), c.req.valid('query').before);
  return csvDownload(c, { name: fileName(c, 'api-keys'), columns: COLUMNS, pages });
});

/** The heading of a list: its filters in words. */
function titleOf({ facts, keys }: KeyList, query: KeyQuery, timeZone: string): string {
  if (isPlainList(query)) return 'API keys';
  const { q, state = 'live', expires, fact } = query;
  const ofType = facts.filter(({ type }) => type === fact);
  const note = noteOf(query);
  return [
    tileOf(ofType, (at) => dateIn(timeZone, at))?.title ?? STATES.find(([one]) => one === state)?.[2],
    note && KEY_NOTES[note].words,
    expires && 'that never expire',
    q && `with “${q}”: ${formatNumber(keys.length)}`,
  ]
    .filter(Boolean)
    .join(' ');
}
