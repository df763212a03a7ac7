import { env } from 'cloudflare:workers';
import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { describe, expect, test } from 'vitest';
import files from '../../../build/page-files.json';
import { RECORD_TABLES } from '../../../src/db/work/record-tables.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS, SCOPE_IDS } from '../../../src/domain/record-kinds.ts';
import { readAuditLog, searchAuditLog } from '../../../src/services/audit/read-audit-log.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { redactRecord } from '../../../src/services/work/record-services.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { readStatic } from '../../support/static-files.ts';
import { asAdmin, asOperator, makeApi, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

// Every kind of record must do this. A new kind that lacks one of its parts fails here.

describe.each(RECORD_KIND_NAMES.map((kind) => ({ kind, ...RECORD_KINDS[kind] })))(
  '$kind',
  ({ kind, scope, path, changeField, textField, exampleBody }) => {
    /** An organization with one record of this kind, written with a key that has no other scope. */
    async function written() {
      const organization = await makeOrganization();
      const key = await makeKey(organization, { scopes: [scope] });
      const api = makeApi();
      const post = () =>
        api.post(`/api/v1/tickets/1001/${path}`, key.value, exampleBody, { 'Idempotency-Key': `${kind}:evt-1` });
      const response = await post();
      expect(response.status).toBe(201);
      const [record] = await rows(organization);
      if (!record) throw new Error('no record');
      return { organization, key, api, post, id: String(record['id']) };
    }

    const { name: table } = getTableConfig(RECORD_TABLES[kind]);
    const rows = async (organization: string) =>
      (await env.DB.prepare(`select * from ${table} where organization_id = ?`).bind(organization).all()).results;

    test('a record is written once with its own scope, and audited', async () => {
      const { organization, key, post, id } = await written();
      const replay = await post();
      expect(replay.status).toBe(200);
      expect(replay.headers.get('Idempotency-Replayed')).toBe('true');
      expect(await rows(organization)).toHaveLength(1);
      const audit = await rowsOf('audit_log', organization);
      expect(audit.filter(({ actor_type }) => actor_type === 'api_key')).toMatchObject([
        {
          action: `${kind}.created`,
          target_id: id,
          actor_id: key.id,
          ticket_id: '1001',
          idempotency_key: `${kind}:evt-1`,
        },
      ]);
    });

    test('a record is refused to a key that has every other scope', async () => {
      const organization = await makeOrganization();
      const key = await makeKey(organization, { scopes: SCOPE_IDS.filter((other) => other !== scope) });
      const response = await makeApi().post(`/api/v1/tickets/1001/${path}`, key.value, exampleBody);
      expect(response.status).toBe(401);
      expect(await rows(organization)).toEqual([]);
    });

    test('a record appears in the changes under its field, with its key', async () => {
      const { organization, key, id } = await written();
      const { changes } = await listChanges(asOperator(), { organization, cursor: null, limit: 100 });
      const [change, ...others] = changes.filter(({ action }) => action === `${kind}.created`);
      expect(others).toEqual([]);
      expect(change).toMatchObject({ targetId: id, [changeField]: { id, ticketId: '1001' }, key: { id: key.id } });
      for (const other of RECORD_KIND_NAMES.filter((name) => name !== kind)) {
        expect(change?.[RECORD_KINDS[other].changeField]).toBeNull();
      }
    });

    test('a record is found with its text by its Idempotency-Key and by its id', async () => {
      const { organization, id } = await written();
      const text = new Map<string, unknown>(Object.entries(exampleBody)).get(textField);
      const expected = [{ action: `${kind}.created`, targetId: id, text }];
      expect(await searchAuditLog(asAdmin(organization), `${kind}:evt-1`)).toMatchObject(expected);
      expect(await searchAuditLog(asAdmin(organization), id)).toMatchObject(expected);
    });

    test('a redaction removes the text of a record, and the audit row contains its ticket', async () => {
      const { organization, id } = await written();
      const request = { organization, kind, id, by: 'Ada' };
      expect(await redactRecord(asOperator(), request)).toEqual({ status: 'redacted' });
      expect(await redactRecord(asOperator(), request)).toEqual({ status: 'unchanged' });
      expect(await rows(organization)).toMatchObject([{ [textField]: '[redacted]', request_digest: '' }]);
      expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
        action: `${kind}.redacted`,
        target_id: id,
        ticket_id: '1001',
      });
      const { entries } = await readAuditLog(asAdmin(organization), { action: `${kind}.redacted` });
      expect(entries).toMatchObject([{ targetId: id }]);
    });

    test('a record is erased with its organization', async () => {
      const { organization } = await written();
      const { cursor } = await listChanges(asOperator(), { organization, cursor: null, limit: 100 });
      await eraseOrganization(asOperator(), { organization, cursor, by: 'Ada' });
      expect(await rows(organization)).toEqual([]);
    });

    test('the stylesheet has colours for its icon and its bars', async () => {
      const css = await (await readStatic(files.stylesheet)).text();
      for (const selector of [`.icon.${kind}`, `.fill.${kind}`]) expect(css).toContain(selector);
    });

    test('the OpenAPI document describes the request with its scope', async () => {
      const document = await (await readStatic('/api/v1/openapi.json')).json<{
        paths: Record<string, { post?: { description: string } }>;
      }>();
      expect(document.paths[`/tickets/{ticketId}/${path}`]?.post?.description).toContain(`\`${scope}\``);
    });
  },
);
