import { describe, expect, test } from 'vitest';
import { connect, ERAS, makeMcpApi, NOTE_ARGUMENTS, TIME_ARGUMENTS } from '../../support/mcp.ts';
import { makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

describe.each(ERAS)('the official client with the revision %s', (era) => {
  test('lists both tools and calls them', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const client = await connect(makeMcpApi(), key, era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['add_internal_note', 'log_time']);

    const note = await client.callTool({ name: 'add_internal_note', arguments: NOTE_ARGUMENTS });
    expect(note.isError).toBeUndefined();
    const [row] = await rowsOf('notes', organization);
    expect(note.structuredContent).toMatchObject({ id: row?.['id'], internal: true, idempotentReplay: false });

    const time = await client.callTool({ name: 'log_time', arguments: TIME_ARGUMENTS });
    const [entry] = await rowsOf('time_entries', organization);
    expect(time.structuredContent).toMatchObject({ id: entry?.['id'], status: 'SUBMITTED', idempotentReplay: false });
    await client.close();
  });
});
