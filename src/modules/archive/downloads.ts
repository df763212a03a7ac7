import { Hono } from 'hono';
import { hasCode } from '../../domain/errors.ts';
import { jsonWithoutKeys } from '../../domain/pasted-keys.ts';
import { type AdminEnv, adminContext } from '../../http/hono-env.ts';
import { PageProblem } from '../../http/settings/page-problem.ts';
import type { ObjectStore } from '../../lib/object-store.ts';
import { readOwnArchive } from './read-archives.ts';

/** A segment of the audit log as lines of JSON, without pasted keys. */
export const downloads = (archive: ObjectStore) =>
  new Hono<AdminEnv>().get('/audit/archive/:toSeq', async (c) => {
    const text = c.req.param('toSeq');
    const toSeq = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    const found = await readOwnArchive({ ...adminContext(c), archive }, toSeq).catch((err: unknown) => {
      if (!hasCode(err, 'unavailable')) throw err;
      throw new PageProblem(503, 'The archive does not respond', 'Open the file again in a moment.', err);
    });
    if (!found) throw new PageProblem(404, 'Not found', 'Your organization has no such archived file.');
    if ('damage' in found)
      throw new PageProblem(
        500,
        'The archived file is damaged',
        'It cannot be opened. Tell the operator of the service the name of the file, which is on the audit log page.',
      );
    const { id } = c.get('administrator').organization;
    const name = `${id}-audit-${found.fromSeq}-${toSeq}.ndjson`;
    return c.body(linesWithoutKeys(found.lines, c.get('config').keyPrefix), 200, {
      'Content-Type': 'application/x-ndjson',
      'Content-Disposition': `attachment; filename="${name}"`,
    });
  });

/** Each string is cleaned separately: only one that contains a key changes. */
const linesWithoutKeys = (text: string, keyPrefix: string) =>
  text.replaceAll(/[^\n]+/g, (line) => jsonWithoutKeys(JSON.parse(line), keyPrefix));
