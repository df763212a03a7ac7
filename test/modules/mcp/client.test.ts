import { describe, expect, test } from 'vitest';
import { makeKey, makeOrganization, revoke, rowsOf } from '../../support/world.ts';
import { connect, ERAS, makeMcpApi, NOTE_ARGUMENTS, TIME_ARGUMENTS } from './support.ts';

const NOTE_CALL = { name: 'add_internal_note', arguments: NOTE_ARGUMENTS };

describe.each(ERAS)('the official client with the revision %s', (era) => {
  test('lists both tools and calls them', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const client = await connect(makeMcpApi(), key, era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['add_internal_note', 'log_time']);

    const note = await client.callTool(NOTE_CALL);
    expect(note.isError).toBeUndefined();
    const [row] = await rowsOf('notes', organization);
    expect(note.structuredContent).toMatchObject({ id: row?.['id'], internal: true, idempotentReplay: false });

    const time = await client.callTool({ name: 'log_time', arguments: TIME_ARGUMENTS });
    const [entry] = await rowsOf('time_entries', organization);
    expect(time.structuredContent).toMatchObject({ id: entry?.['id'], status: 'SUBMITTED', idempotentReplay: false });
    await client.close();
  });

  test('a wrong or revoked key gets the status 401', async () => {
    await expect(connect(makeMcpApi(), 'twb_wrong', era)).rejects.toMatchObject({ status: 401 });
    const organization = await makeOrganization();
    const { value, id } = await makeKey(organization);
    const client = await connect(makeMcpApi(), value, era);
    await revoke(organization, id);
    await expect(client.callTool(NOTE_CALL)).rejects.toMatchObject({ status: 401 });
  });

  test('a call over the limit leads to a result, and any other message gets the status 429', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const client = await connect(makeMcpApi({ config: { keyLimit: { quota: 4, windowMs: 10_000 } } }), key, era);
    const codes = new Set<unknown>();
    for (let call = 0; call < 5; call++) {
      const { structuredContent } = await client.callTool(NOTE_CALL);
      codes.add(Object(structuredContent)['code']);
    }
    expect(codes).toEqual(new Set([undefined, 'rate_limited']));
    await expect(client.listTools()).rejects.toMatchObject({ status: 429 });
  });
});
