import * as z from 'zod';
import type { Jurisdiction } from '../domain/deployments.ts';
import { LoggableError } from '../lib/log.ts';
import type { ObjectStore } from '../lib/object-store.ts';
import type { CloudflareApi } from './cloudflare-api.ts';

const listing = z.object({
  result: z.array(z.object({ key: z.string(), size: z.int(), last_modified: z.string() })).nullish(),
  result_info: z.looseObject({ is_truncated: z.boolean().optional(), cursor: z.string().optional() }).optional(),
});

/** How many objects one page of a list has: the most that the API allows. */
const LISTED = '1000';
/** How many objects are deleted until a deadline: each is a call, and the pace spreads them over 20 seconds. */
const MAX_DELETED = 50;

/** The bucket over Cloudflare's API. The token needs the permission to edit Workers R2 Storage. */
export function remoteArchive(api: CloudflareApi, bucket: string, jurisdiction?: Jurisdiction): ObjectStore {
  const objects = `/r2/buckets/${bucket}/objects`;
  const call = async (path: string, init?: Pick<RequestInit, 'method' | 'body'>): Promise<Response | undefined> => {
    const response = await api(path, {
      ...init,
      ...(jurisdiction && { headers: { 'cf-r2-jurisdiction': jurisdiction } }),
    });
    if (response.ok) return response;
    await response.body?.cancel();
    if (response.status === 404) return undefined;
    throw new LoggableError(`Cloudflare's API answered ${response.status} for the bucket ${bucket}`);
  };
  const required = async (path: string, init?: Pick<RequestInit, 'method' | 'body'>): Promise<Response> => {
    const response = await call(path, init);
    if (!response) throw new LoggableError(`Cloudflare's API found no bucket ${bucket}`);
    return response;
  };
  const at = (name: string) => `${objects}/${name.split('/').map(encodeURIComponent).join('/')}`;
  return {
    maxDeleted: MAX_DELETED,
    get: async (name) => {
      const response = await call(at(name));
      return response && new Uint8Array(await response.arrayBuffer());
    },
    put: async (name, bytes) => {
      await required(at(name), { method: 'PUT', body: bytes });
    },
    delete: async (names) => {
      for (const name of names) await call(at(name), { method: 'DELETE' });
    },
    list: async (prefix, after) => {
      const query = new URLSearchParams({
        prefix,
        per_page: LISTED,
        ...(after !== undefined && { start_after: after }),
      });
      const response = await required(`${objects}?${query}`);
      const { result, result_info: info } = listing.parse(await response.json());
      const found = (result ?? []).map(({ key, size, last_modified }) => {
        return { name: key, size, storedAt: Date.parse(last_modified) };
      });
      return { objects: found, more: (info?.is_truncated ?? Boolean(info?.cursor)) && found.length > 0 };
    },
  };
}
