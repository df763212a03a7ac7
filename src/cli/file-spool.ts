import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DirectoryEntry } from '../domain/directory.ts';
import type { DirectorySpool } from './import/directory-spool.ts';

/** How much waits in memory, in UTF-16 units, before it is written to the disk. */
const BUFFER_LENGTH = 4 * 1024 * 1024;

interface Part {
  position: number;
  length: number;
}

/** A spool in one temporary file: the entries of an organization are scattered over it in parts, which are read back together. */
class FileSpool implements DirectorySpool {
  private readonly file: FileHandle;
  private readonly parts = new Map<string, Part[]>();
  private readonly buffers = new Map<string, string[]>();
  private buffered = 0;
  private end = 0;

  constructor(file: FileHandle) {
    this.file = file;
  }

  async add(organization: string, entry: DirectoryEntry): Promise<void> {
    const json = JSON.stringify(entry);
    const buffer = this.buffers.get(organization);
    if (buffer) buffer.push(json);
    else this.buffers.set(organization, [json]);
    if (!this.parts.has(organization)) this.parts.set(organization, []);
    this.buffered += json.length;
    if (this.buffered > BUFFER_LENGTH) await this.flush();
  }

  organizations(): string[] {
    return [...this.parts.keys()];
  }

  async read(organization: string): Promise<DirectoryEntry[]> {
    await this.flush();
    const entries: DirectoryEntry[] = [];
    for (const { position, length } of this.parts.get(organization) ?? []) {
      const { buffer } = await this.file.read(Buffer.alloc(length), 0, length, position);
      // What was written here as entries comes back as entries.
      const part: DirectoryEntry[] = JSON.parse(buffer.toString());
      for (const entry of part) entries.push(entry);
    }
    return entries;
  }

  private async flush(): Promise<void> {
    for (const [organization, buffer] of this.buffers) {
      const bytes = Buffer.from(`[${buffer.join(',')}]`);
      await this.file.write(bytes, 0, bytes.length, this.end);
      this.parts.get(organization)?.push({ position: this.end, length: bytes.length });
      this.end += bytes.length;
    }
    this.buffers.clear();
    this.buffered = 0;
  }
}

/** Opens a spool on the disk for as long as `use` runs. Only its owner can read the file. */
export async function withFileSpool<T>(use: (spool: DirectorySpool) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'directory-import-'));
  try {
    const file = await open(join(directory, 'spool'), 'wx+', 0o600);
    try {
      return await use(new FileSpool(file));
    } finally {
      await file.close();
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}
