import * as z from 'zod';
import { Failure, jsonOf, type ProbeResponse } from './probe.ts';

// Who sent a response: the service, or something in front of it.

/** The constant body of a 401. */
const UNAUTHORIZED = '{"type":"about:blank","title":"Unauthorized","status":401}';

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The body of a response. @throws Failure unless it has this status and shape */
export function bodyOf<Shape extends z.ZodType>(given: ProbeResponse, shape: Shape, status = 200): z.output<Shape> {
  const found = shape.safeParse(given.status === status ? jsonOf(given.body) : undefined);
  if (found.success) return found.data;
  throw new Failure(`${given.status === status ? '' : `${status} was expected. `}${whoAnswered(given)}`);
}

/** @throws Failure unless the response is the constant 401; `explain` gets the difference */
export function require401(given: ProbeResponse, explain = (fault: string) => fault): string {
  const fault = wrongWith401(given);
  if (fault !== undefined) throw new Failure(explain(fault));
  return 'the 401 of the service';
}

/** What is wrong with a response that should be the constant 401; undefined if nothing is. */
export function wrongWith401(given: ProbeResponse): string | undefined {
  if (given.status !== 401) return whoAnswered(given);
  if (given.body === UNAUTHORIZED && isOurs(given)) return undefined;
  return `a 401 that is not from the service. ${whoAnswered(given)}`;
}

/** Whether a response has the headers that the Worker sets on every response. */
export const isOurs = ({ headers }: ProbeResponse) =>
  headers.get('x-content-type-options') === 'nosniff' && ID.test(headers.get('x-request-id') ?? '');

const problem = z.object({ code: z.string(), detail: z.string() });

export const problemOf = ({ body }: ProbeResponse) => problem.safeParse(jsonOf(body)).data;

const CLOUDFLARE_ERRORS: Record<string, string> = {
  '1010': 'the browser integrity check blocks this User-Agent. Turn it off for /api/*',
  '1015': 'a rate limiting rule of the zone blocks the request. The service has its own limits; exempt /api/*',
  '1020': 'a firewall rule of the zone blocks the request. Exempt /api/*',
};

/** Describes an unexpected response: who probably sent it, and what to do. */
export function whoAnswered(given: ProbeResponse): string {
  const { status, headers, body } = given;
  const location = headers.get('location');
  if (location !== null && status >= 300 && status < 400) {
    return isAccess(location)
      ? `Cloudflare Access redirects to its sign-in (${status} to ${address(location)}). Automations cannot sign in: its application must cover only /settings.`
      : `a redirect (${status} to ${address(location)}). A proxy redirects callers; automations do not follow a redirect with their key.`;
  }
  if (headers.get('cf-mitigated') === 'challenge') {
    return `Cloudflare responds with a challenge (${status}): bot fight mode, under attack mode, or a rule with a challenge. Exempt /api/*; bot fight mode must be off for the whole zone.`;
  }
  const error = /\b(?:error code:? ?|cf-error-code">)(1\d{3})\b/i.exec(body)?.[1];
  if (error !== undefined)
    return `Cloudflare responds with ${status}, error ${error}: ${CLOUDFLARE_ERRORS[error] ?? 'look it up in its documentation'}.`;
  const problem = problemOf(given);
  if (problem && isOurs(given)) {
    return `the service responds with ${status} ${problem.code}: ${problem.detail.slice(0, 200)}${status === 500 ? ' If the log names an unknown table or column, a migration is missing: npm run deploy -- --migrate' : ''}`;
  }
  const server = headers.get('server');
  const what = /text\/html/.test(headers.get('content-type') ?? '')
    ? `an HTML page${titleOf(body)}`
    : 'not a response of the service';
  return `the response is ${status}, ${what}${server === null ? '' : `, by ${server.slice(0, 40)}`}. Check the address, that the current release is deployed, and what is in front of it.`;
}

/** An address without its query and fragment, which may contain secrets. */
export const address = (location: string) => location.replace(/[?#].*$/, '').slice(0, 100);

export const isAccess = (location: string) =>
  /^https:\/\/[^/]+\.cloudflareaccess\.com\/|\/cdn-cgi\/access\//.test(location);

const titleOf = (html: string) => {
  const title = /<title>([^<]{1,60})/i.exec(html)?.[1]?.trim();
  return title === undefined ? '' : ` ("${title}")`;
};
