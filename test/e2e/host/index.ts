import { html } from 'hono/html';
import type { Directory } from '../../../src/rpc/directory.ts';
import type { Work } from '../../../src/rpc/work.ts';

interface HostEnv {
  DIRECTORY: Service<Directory>;
  WORK: Service<Work>;
  API: Fetcher;
}

const ORGANIZATION = 'northwind';

/**
 * What this PSA knows of the work; a real one has a database, where the cursor is saved together
 * with what was read.
 */
const queue = new Map<string, { ticketId: string; text: string; writtenBy: string; status: string }>();
let cursor: string | null = null;

/** Tells the service what it has to know of this PSA. */
function push(env: HostEnv) {
  const organization = ORGANIZATION;
  return env.DIRECTORY.upsert(organization, [
    {
      type: 'organization',
      id: organization,
      name: 'Northwind MSP',
      psa: true,
      timeZone: 'UTC',
      defaultHourlyRate: 120,
    },
    { type: 'user', organization, id: 'ada', email: 'ada@northwind.example', name: 'Ada', admin: true },
    { type: 'company', organization, id: 'acme', name: 'Acme' },
    { type: 'ticket', organization, id: '1001', company: 'acme' },
  ]);
}

/** Takes over what has been written since the last time. */
async function pull(env: HostEnv): Promise<void> {
  for (let more = true; more; ) {
    const page = await env.WORK.changes(ORGANIZATION, cursor);
    if (!page.ok) throw new Error(page.error.detail);
    for (const { note, timeEntry, key } of page.value.changes) {
      const record = note ?? timeEntry;
      if (!record || !key) continue;
      const { text } = note?.message ?? timeEntry?.description ?? { text: '' };
      queue.set(record.id, {
        ticketId: record.ticketId,
        text,
        writtenBy: key.name.text,
        status: timeEntry?.status ?? 'internal',
      });
    }
    cursor = page.value.cursor;
    more = page.value.more;
  }
}

/** What a technician sees. Every text comes from outside; the template escapes it. */
async function page(): Promise<Response> {
  const items = [...queue].map(
    ([id, { ticketId, text, writtenBy, status }]) =>
      html`<li id="${id}">${ticketId}: ${text} (${writtenBy}, ${status})</li>`,
  );
  return new Response(String(await html`<!doctype html><title>Queue</title><ul>${items}</ul>`), {
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
  });
}

export default {
  async fetch(request, env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.startsWith('/api/')) return env.API.fetch(request);
    if (pathname === '/push') return Response.json(await push(env));
    if (pathname === '/approve') {
      return Response.json(
        await env.WORK.reviewTimeEntry(ORGANIZATION, searchParams.get('entry') ?? '', 'APPROVED', 'ada'),
      );
    }
    await pull(env);
    return page();
  },
} satisfies ExportedHandler<HostEnv>;
