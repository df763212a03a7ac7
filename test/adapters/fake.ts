import type { Psa } from '../../src/adapters/kit/psa.ts';

// What a fake PSA contains, independent of its API. The fake of each PSA translates requests into it.

export interface FakeTicket {
  id: number;
  company: number;
  closedAt: number | null;
  updatedAt: number;
}
export interface FakeNote {
  id: number;
  ticket: number;
  text: string;
  isPrivate: boolean;
  /** The user or customer who wrote it. */
  author: number;
}
export interface FakeEntry {
  id: number;
  ticket: number;
  text: string;
  minutes: number;
  /** The day on which it counts, in the organization's time zone. */
  date: string;
  user: number;
  billable: boolean;
  decision?: { status: 'APPROVED' | 'REJECTED'; reviewer: string };
  updatedAt: number;
}

/** The contents of a fake, and how it misbehaves. */
export class FakeData {
  /** By how much its clock is ahead. */
  skewMs = 0;
  users = [
    { id: 1, email: 'ada@northwind.example', name: 'Ada Admin' },
    { id: 2, email: 'tess@northwind.example', name: 'Tess Technician' },
    { id: 9, email: 'automation@northwind.example', name: 'Automation Service' },
  ];
  companies = [
    { id: 11, name: 'Acme' },
    { id: 12, name: 'Globex' },
  ];
  tickets: FakeTicket[] = [];
  notes: FakeNote[] = [];
  entries: FakeEntry[] = [];
  /** The user that the adapter signs in as. */
  account = 9;
  /** Whether customers see every new note, whatever the request says. */
  showsNotes = false;
  /** The texts of notes and of time that were removed. */
  removed: string[] = [];
  removedTime: string[] = [];
  /** Changes each new time entry, as settings of the PSA can. */
  onTime: (entry: FakeEntry) => void = () => undefined;
  /** Requests and responses that the vendor's description does not allow. */
  violations: string[] = [];
  /** How many requests there were, by method and path without ids. */
  calls: Record<string, number> = {};
  private lastId = 1_000;
  private readonly clock: () => number;

  constructor(clock: () => number) {
    this.clock = clock;
    // Not changed recently: the adapter would take them over again in each run.
    for (let id = 501; id <= 510; id++) this.addTicket(id, { updatedAt: 0 });
  }

  now = () => this.clock() + this.skewMs;
  newId = () => ++this.lastId;

  addTicket(id: number, changes: Partial<FakeTicket> = {}): void {
    this.tickets.push({ id, company: id % 2 === 0 ? 12 : 11, closedAt: null, updatedAt: this.now(), ...changes });
  }
  dropTicket(id: number): void {
    this.tickets = this.tickets.filter((one) => one.id !== id);
  }
}

/** Where the fakes are, as the adapters know it. */
export const FAKE_URL = 'https://psa.example';

export type MakeFake = (clock: () => number) => Fake;

/** A fake of one PSA, with the mapping that is tested. */
export interface Fake {
  data: FakeData;
  /** The variables and secrets of an adapter for it. */
  env: Record<string, string>;
  psa: Psa;
  fetch: (request: Request) => Promise<Response>;
  /** The text of a note or a time entry as its reader sees it, without the mark. */
  plain: (text: string) => string;
  /** Whether the PSA is known to have a rejection of time. */
  rejects: boolean;
  /** Whether the PSA returns the id of a note that it creates. */
  createsWithId: boolean;
}

export const json = (status: number, body: unknown, date: number, headers: Record<string, string> = {}): Response =>
  new Response(body === undefined ? null : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', Date: new Date(date).toUTCString(), ...headers },
  });
