import type { DirectoryEntry } from '../../domain/directory.ts';

/** Where an import keeps what it read until all of it is known to be right: by organization, since each is written as one. */
export interface DirectorySpool {
  add(organization: string, entry: DirectoryEntry): void | Promise<void>;
  /** The organizations in the order in which they first came. */
  organizations(): string[];
  /** The entries of one organization, in the order in which they came. */
  read(organization: string): DirectoryEntry[] | Promise<DirectoryEntry[]>;
}

/** A spool for as much as fits into memory. */
export class MemorySpool implements DirectorySpool {
  private readonly entries = new Map<string, DirectoryEntry[]>();

  add(organization: string, entry: DirectoryEntry): void {
    const own = this.entries.get(organization);
    if (own) own.push(entry);
    else this.entries.set(organization, [entry]);
  }

  organizations(): string[] {
    return [...this.entries.keys()];
  }

  read(organization: string): DirectoryEntry[] {
    return this.entries.get(organization) ?? [];
  }
}
