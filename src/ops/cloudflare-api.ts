import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import { isLoopback } from '../lib/loopback.ts';
import { CommandFailure, UsageError } from './failures.ts';
import { jsonOf } from './probe.ts';

/** Below Cloudflare's limit of 1,200 calls in five minutes: 300 + 5 * 60 * 2.5 = 1,050. */
const API_PACE = { burst: 300, perSecond: 2.5 };

/**
 * Spaces calls: a bucket of `burst` calls that fills again with `perSecond` of them. The function that it returns takes
 * the next call, and returns how many milliseconds after `now` it may begin.
 */
export function paceOf({ burst, perSecond }: typeof API_PACE, filledAt: number): (now: number) => number {
  let calls = burst;
  return (now) => {
    calls = Math.min(burst, calls + ((now - filledAt) * perSecond) / 1_000) - 1;
    filledAt = now;
    return Math.ceil(Math.max(0, (-calls * 1_000) / perSecond));
  };
}

/** Sends a request to a path of Cloudflare's API, when its turn has come. */
export type CloudflareApi = (path: string, init?: ApiRequest) => Promise<Response>;
type ApiRequest = Pick<RequestInit, 'method' | 'body' | 'signal'> & { headers?: Record<string, string> };

/** Paths below `/accounts/{account}`, or all without an account, with the variables that wrangler reads. @throws UsageError */
export function cloudflareApi(
  account: string | undefined,
  env = process.env,
  pace = paceOf(API_PACE, Date.now()),
): CloudflareApi {
  const token = env['CLOUDFLARE_API_TOKEN'];
  if (!token) throw new UsageError('Set CLOUDFLARE_API_TOKEN in the environment.');
  const other = env['CLOUDFLARE_API_BASE_URL'];
  if (other !== undefined && !isLoopback(URL.parse(other)?.hostname ?? ''))
    throw new UsageError(
      'CLOUDFLARE_API_BASE_URL is not an address of this machine, which is the only one that may get the token.',
    );
  const baseUrl = other ?? 'https://api.cloudflare.com/client/v4';
  const root = account === undefined ? baseUrl : `${baseUrl}/accounts/${account}`;
  return async (path, init = {}) => {
    const wait = pace(Date.now());
    if (wait > 0) await setTimeout(wait);
    return fetch(root + path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });
  };
}

/** The permission of the token that a call needs, by a part of its path. The first one applies. */
const PERMISSIONS = {
  '/dns_records': 'DNS: Read',
  '/rulesets/': 'Zone WAF: Edit',
  '/workers/routes': 'Workers Routes: Edit',
  '/zones': 'Zone: Read',
  '/workers/': 'Workers Scripts: Edit',
  '/d1/': 'D1: Edit',
  '/access/apps': 'Access: Apps and Policies: Edit',
  '/access/policies': 'Access: Apps and Policies: Edit',
  '/access/': 'Access: Organizations, Identity Providers, and Groups: Edit',
  '/accounts': 'Account Settings: Read',
};

export const ACCESS_NOT_ENABLED = 9999;
/** What only the dashboard enables, by the code of the error. */
const NOT_ENABLED = new Map([[ACCESS_NOT_ENABLED, 'Zero Trust is not enabled: open it in the dashboard once.']]);

interface ApiFailure {
  status?: number;
  code?: number | undefined;
  /** What Cloudflare's API says. */
  says?: string | undefined;
  /** The permission that the token lacks. */
  permission?: string | undefined;
}

/** An error of a call to Cloudflare's API; without a status if there is no response. */
export class ApiError extends CommandFailure {
  override name = 'ApiError';
  readonly failure: ApiFailure;
  constructor(message: string, failure: ApiFailure = {}) {
    super(message);
    this.failure = failure;
  }
}

const errorShape = z.object({ errors: z.tuple([z.object({ code: z.number(), message: z.string() })], z.unknown()) });
const TIMEOUT_MS = 60_000;

/** The result of a call. @throws ApiError */
export async function resultOf<T>(
  api: CloudflareApi,
  path: string,
  shape: z.ZodType<T>,
  { method = 'GET', body }: { method?: string; body?: object } = {},
): Promise<T> {
  const call = `${method} ${path.replace(/\?.*/, '')}`;
  const noResponse = () => {
    throw new ApiError(`Cloudflare's API did not respond to ${call}.`);
  };
  const response = await api(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(noResponse);
  const { ok, status } = response;
  const json = jsonOf(await response.text().catch(noResponse));
  const found = z.object({ result: shape }).safeParse(json);
  if (ok && found.success) return found.data.result;
  const { code, message: says } = errorShape.safeParse(json).data?.errors[0] ?? {};
  const advice = NOT_ENABLED.get(code ?? 0);
  if (advice !== undefined) throw new ApiError(advice, { status, code, says });
  const permission =
    status === 403 ? Object.entries(PERMISSIONS).find(([part]) => path.includes(part))?.[1] : undefined;
  const error = says === undefined ? ', and not as its documentation says' : `: ${says.slice(0, 200)} (${code})`;
  const lacks = permission === undefined ? '' : ` The token lacks ${permission}: see src/ops/deploy.md.`;
  const message = `Cloudflare's API responded to ${call} with ${status}${error}.${lacks}`;
  throw new ApiError(message, { status, code, says, permission });
}

/** For `catch`: undefined for what does not exist. */
export function notFound(err: unknown): undefined {
  if (!(err instanceof ApiError && err.failure.status === 404)) throw err;
}

/** Sets a secret of a Worker, which deploys it again. @throws ApiError for what is not deployed */
export const putSecret = (api: CloudflareApi, worker: string, name: string, text: string) =>
  resultOf(api, `/workers/scripts/${worker}/secrets`, z.unknown(), {
    method: 'PUT',
    body: { name, text, type: 'secret_text' },
  });
