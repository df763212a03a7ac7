import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import { isLoopback } from '../lib/loopback.ts';
import { CommandFailure, UsageError } from './command.ts';
import { jsonOf } from './probe.ts';

/** How many calls may follow each other without a pause, and how many a second after that. */
interface PaceLimits {
  burst: number;
  perSecond: number;
}

/** Below Cloudflare's limit of 1,200 calls in five minutes: 300 + 5 * 60 * 2.5 = 1,050. */
const API_PACE: PaceLimits = { burst: 300, perSecond: 2.5 };

/** Spaces calls: a bucket of `burst` calls that fills again with `perSecond` of them. */
export class Pace {
  private readonly limits: PaceLimits;
  private calls: number;
  private filledAt: number;
  constructor(limits: PaceLimits, now: number) {
    this.limits = limits;
    this.calls = limits.burst;
    this.filledAt = now;
  }

  /** Takes the next call, and returns how many milliseconds after `now` it may begin. */
  next(now: number): number {
    const { burst, perSecond } = this.limits;
    this.calls = Math.min(burst, this.calls + ((now - this.filledAt) * perSecond) / 1_000) - 1;
    this.filledAt = now;
    return Math.ceil(Math.max(0, (-this.calls * 1_000) / perSecond));
  }

  /** Takes the next call, and waits until it may begin. */
  async wait(): Promise<void> {
    const wait = this.next(Date.now());
    if (wait > 0) await setTimeout(wait);
  }
}

/** Sends a request to a path of Cloudflare's API, when its turn has come. */
export type CloudflareApi = (path: string, init?: ApiRequest) => Promise<Response>;
type ApiRequest = Pick<RequestInit, 'method' | 'body' | 'signal'> & { headers?: Record<string, string> };

/** Paths below `/accounts/{account}`, or all without an account, with the variables that wrangler reads. @throws UsageError */
export function cloudflareApi(
  account: string | undefined,
  env = process.env,
  pace = new Pace(API_PACE, Date.now()),
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
    await pace.wait();
    return fetch(root + path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });
  };
}

/** An error of a call to Cloudflare's API; without a status if there is no response. */
export class ApiError extends CommandFailure {
  override name = 'ApiError';
  readonly status: number | undefined;
  readonly code: number | undefined;
  constructor(message: string, status?: number, code?: number) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const errorShape = z.object({ errors: z.tuple([z.object({ code: z.number(), message: z.string() })], z.unknown()) });
const TIMEOUT_MS = 30_000;

/** The result of a call. @throws ApiError */
export async function resultOf<T>(
  api: CloudflareApi,
  path: string,
  shape: z.ZodType<T>,
  { method = 'GET', body, headers }: { method?: string; body?: object; headers?: Record<string, string> } = {},
): Promise<T> {
  const call = `${method} ${path.replace(/\?.*/, '')}`;
  const lost = () => {
    throw new ApiError(`Cloudflare's API did not respond to ${call}.`);
  };
  const response = await api(path, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(lost);
  const json = jsonOf(await response.text().catch(lost));
  const found = z.object({ result: shape }).safeParse(json);
  if (response.ok && found.success) return found.data.result;
  const error = errorShape.safeParse(json).data?.errors[0];
  const says = error ? `: ${error.message.slice(0, 200)} (${error.code})` : ', and not as its documentation says';
  const advice = response.status === 403 ? '. The token lacks a permission: see src/ops/deploy.md' : '';
  const message = `Cloudflare's API responded to ${call} with ${response.status}${says}${advice}.`;
  throw new ApiError(message, response.status, error?.code);
}

/** For `catch`: undefined for what does not exist. */
export function notFound(err: unknown): undefined {
  if (!(err instanceof ApiError && err.status === 404)) throw err;
}
