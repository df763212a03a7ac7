/** A bucket: R2 as this service uses it. */
export interface ObjectStore {
  get(name: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Stores an object, or replaces it. `digest` is its SHA-256 in hex. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>, digest: string): Promise<void>;
  /** How many objects one call of `delete` may name. */
  readonly maxDeleted: number;
  delete(names: string[]): Promise<void>;
  /** The objects whose names begin with `prefix`, in their order, after the name `after`. */
  list(prefix: string, after?: string): Promise<{ objects: StoredObject[]; more: boolean }>;
}

export interface StoredObject {
  name: string;
  /** In bytes. */
  size: number;
  storedAt: number;
}

/** The part of R2 that is used, in a Worker and in Miniflare. */
export interface R2Objects {
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
  put(
    key: string,
    value: Uint8Array<ArrayBuffer>,
    options: { sha256: string; httpMetadata: { contentType: string } },
  ): Promise<unknown>;
  delete(keys: string[]): Promise<void>;
  list(options: {
    prefix: string;
    startAfter?: string;
  }): Promise<{ objects: { key: string; size: number; uploaded: Date }[]; truncated: boolean }>;
}

export function objectStore(bucket: R2Objects): ObjectStore {
  return {
    maxDeleted: 1_000,
    get: async (name) => {
      const object = await bucket.get(name);
      return object === null ? undefined : new Uint8Array(await object.arrayBuffer());
    },
    put: async (name, bytes, digest) => {
      await bucket.put(name, bytes, { sha256: digest, httpMetadata: { contentType: 'application/gzip' } });
    },
    delete: (names) => bucket.delete(names),
    list: async (prefix, after) => {
      const { objects, truncated } = await bucket.list({ prefix, ...(after !== undefined && { startAfter: after }) });
      return {
        objects: objects.map(({ key, size, uploaded }) => ({ name: key, size, storedAt: uploaded.getTime() })),
        more: truncated,
      };
    },
  };
}
