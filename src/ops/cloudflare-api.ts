import { setTimeout } from 'node:timers/promises';
import { UsageError } from './command.ts';

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
type ApiRequest = Pick<RequestInit, 'method' | 'body'> & { headers?: Record<string, string> };

/** Paths below `/accounts/{account}`, or all without an account, with the variables that wrangler reads. @throws UsageError */
export function cloudflareApi(
  account: string | undefined,
  env = process.env,
  pace = new Pace(API_PACE, Date.now()),
): CloudflareApi {
  const token = env['CLOUDFLARE_API_TOKEN'];
  if (!token) throw new UsageError('Set CLOUDFLARE_API_TOKEN in the environment.');
  const baseUrl = env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4';
  const root = account === undefined ? baseUrl : `${baseUrl}/accounts/${account}`;
  return async (path, init = {}) => {
    await pace.wait();
    return fetch(root + path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });
  };
}
