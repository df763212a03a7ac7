import type { WorkerEntrypoint } from 'cloudflare:workers';
import type { Connection } from '../../rpc/connection.ts';
import type { DirectoryItem, Psa, Send } from './psa.ts';
import type { World } from './send.ts';
import type { Settings } from './settings.ts';

/** The methods of the entry point that an adapter is bound to. */
export type Service = Omit<Connection, keyof WorkerEntrypoint>;

/** What the parts of an adapter work with. */
export interface Context {
  service: Service;
  settings: Settings;
  psa: Psa;
  send: Send;
  /** What it remembers. The runtime sends a request only when what was stored before is on disk. */
  kv: SyncKvStorage;
  world: World;
  /** When a record of each stream was last tried: streams take turns. */
  servedAt: Map<string, number>;
  /** The list of all tickets while it is read. */
  ticketList?: TicketList | undefined;
}

export interface TicketList {
  pages: AsyncIterator<DirectoryItem[]>;
  /** The records of its pages, and those that changed meanwhile. */
  found: Set<string>;
}

/** @throws Error whose cause is the code of the error */
export function unwrap<T>(result: { ok: true; value: T } | { ok: false; error: { code: string; detail: string } }): T {
  if (result.ok) return result.value;
  throw new Error(result.error.detail, { cause: result.error.code });
}
