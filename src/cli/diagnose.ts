import * as z from 'zod';
import { generateKey } from '../domain/api-key.ts';
import { isLoopback } from '../lib/loopback.ts';

/** What one check found: `says` is one sentence or two, and for a failure what it means and what to do. */
export interface Finding {
  ok: boolean;
  /** Whether any answer came. */
  answered: boolean;
  check: string;
  says: string;
}

/** How long one answer may take. */
const TIMEOUT_MS = 10_000;

/** Who calls when an automation calls. Bot protection and browser checks judge by this. */
const USER_AGENTS = {
  n8n: 'axios/1.12.0',
  Make: 'Make/production',
  Zapier: 'Zapier',
  Go: 'Go-http-client/2.0',
  Python: 'python-requests/2.32.5',
  'an empty one': '',
};

/** What logs pasted into a note hold, and what a firewall takes for an attack. */
const SUSPICIOUS = `<script>alert(1)</script> ' OR 1=1; DROP TABLE users -- ../../etc/passwd \${jndi:ldap://x/a} () { :;}; rm -rf /`;

/** The one 401 of the service, byte by byte, and the headers that must come with it. */
const UNAUTHORIZED = '{"type":"about:blank","title":"Unauthorized","status":401}';
const REQUIRED_HEADERS = {
  'content-type': 'application/problem+json',
  'www-authenticate': 'Bearer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};
/** What the headers of the service's own pages must hold. */
const PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'",
  'x-frame-options': 'DENY',
  'strict-transport-security': 'max-age=',
};
/** Headers that tell of a limit, and so of a key. */
const TELLTALE_HEADERS = ['ratelimit', 'ratelimit-policy', 'retry-after', 'api-key-expires-at'];

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

/** Thrown where no answer came; the message says why in plain words. */
class NoAnswer extends Error {
  override name = 'NoAnswer';
}

/**
 * Looks at a deployment from outside, as an automation and as a stranger would meet it, and yields what it found, check by check. `key` is a
 * key value to try. Nothing is written. Requests go through `send`.
 */
export async function* diagnose(url: URL, key?: string, send: typeof fetch = fetch): AsyncGenerator<Finding> {
  const loopback = isLoopback(url.hostname);
  const origin = loopback ? url.origin : `https://${url.host}`;
  const ask = (path: string, init: RequestInit = {}) => answer(send, `${origin}${path}`, init);
  const post = (headers: Record<string, string> = {}, message = 'Is anybody there?') =>
    ask('/api/v1/tickets/1/notes', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ message }),
    });
  /** A check that fails by itself where no answer came. */
  const check = async (name: string, run: () => Promise<string>): Promise<Finding> => {
    try {
      return { ok: true, answered: true, check: name, says: await run() };
    } catch (err) {
      if (!(err instanceof Failure || err instanceof NoAnswer)) throw err;
      return { ok: false, answered: err instanceof Failure, check: name, says: err.message };
    }
  };

  if (!loopback) yield await check('https', () => onlyHttps(send, url.host));

  // One cause, one failure: what is wrong with every request is not said ten times.
  let paused = false;
  const health = await check('/healthz', async () => {
    paused = isPaused(await ask('/healthz'));
    if (!paused) return 'ok';
    throw new Failure(
      'paused: the API answers 503, and was not looked at. When that is over: echo open | npx wrangler secret put MODE',
    );
  });
  yield health;
  if (!health.answered) return;

  const keyless = paused ? undefined : await check('a POST without a key', async () => exactly401(await post()));
  if (keyless) yield keyless;
  if (keyless?.ok) {
    yield await check('the User-Agents of automations', async () => {
      const answers = await Promise.all(
        Object.entries(USER_AGENTS).map(
          async ([tool, agent]) => [tool, wrongWith401(await post({ 'User-Agent': agent }))] as const,
        ),
      );
      const wrong = answers.filter(([, fault]) => fault !== undefined);
      if (wrong.length === 0) return `the same answer to ${Object.keys(USER_AGENTS).join(', ')}`;
      const tools = wrong.map(([tool]) => tool).join(', ');
      throw new Failure(
        `${tools}: ${wrong[0]?.[1]} Others are answered: bot protection or the browser integrity check goes by the User-Agent.`,
      );
    });
    yield await check('a note that quotes an attack', async () => {
      const fault = wrongWith401(await post({}, SUSPICIOUS));
      if (fault === undefined) return 'no firewall reads the notes';
      throw new Failure(
        `${fault} A harmless note is answered: a firewall judges the text. Skip managed rules for /api/*, or logs in notes get lost.`,
      );
    });
    yield await check('wrong keys', async () => {
      const reference = namesOf(await post());
      const prefix = key?.slice(0, key.indexOf('_')) ?? 'twb';
      const wrong = { 'a malformed key': `${prefix}_no`, 'an unknown key': generateKey(prefix) };
      for (const [what, value] of Object.entries(wrong)) {
        const given = await post({ Authorization: `Bearer ${value}` });
        const fault = wrongWith401(given);
        if (fault !== undefined) throw new Failure(`${what} is told apart: ${fault}`);
        if (namesOf(given) !== reference)
          throw new Failure(
            `${what} is told apart by its headers: ${namesOf(given)} instead of ${reference}. Something on the way adds or removes them.`,
          );
      }
      return `no answer tells a malformed or unknown key (${prefix}_…) from a missing one`;
    });
    yield await check('headers that callers make up', async () => {
      const id = '00000000-0000-4000-8000-000000000000';
      const given = await post({
        'X-Request-Id': id,
        'X-Forwarded-For': '127.0.0.1',
        'X-Forwarded-Host': 'example.com',
        Forwarded: 'for=127.0.0.1',
      });
      const fault = wrongWith401(given);
      if (fault !== undefined) throw new Failure(`X-Forwarded-For or X-Forwarded-Host changes the answer: ${fault}`);
      if (given.headers.get('x-request-id') === id)
        throw new Failure(
          'the X-Request-Id of the caller comes back. Something in front replaces ours: nobody finds a request in the log any more.',
        );
      return 'X-Forwarded-For is not believed, X-Request-Id is made by the service';
    });
  }

  yield await check('/settings', async () => guarded(await ask('/settings'), await ask('/settings/x/keys', FORGED)));
  yield await check('/docs', async () => {
    const given = await ask('/docs');
    if (given.status === 200 && isOurs(given)) return 'the reference is there';
    throw new Failure(whoAnswered(given));
  });
  yield await check('/api/v1/openapi.json', async () => {
    const given = await ask('/api/v1/openapi.json');
    if (given.status === 200 && isOurs(given) && /^\s*\{"openapi":"3\.1/.test(given.body))
      return 'the document is there';
    throw new Failure(whoAnswered(given));
  });
  if (key !== undefined && !paused) {
    yield await check('ping with the key', async () =>
      pinged(await ask('/api/v1/ping', { headers: { Authorization: `Bearer ${key}` } })),
    );
  }
}

/** Thrown by a check that failed; the message is what to say. */
class Failure extends Error {
  override name = 'Failure';
}

/** A token that names an administrator and that nobody has signed. */
const FORGED = {
  headers: {
    'Cf-Access-Jwt-Assertion': `${btoa('{"alg":"none"}')}.${btoa('{"email":"ada@northwind.example","exp":9999999999}')}.`,
    Cookie: 'CF_Authorization=x',
  },
};

/** Sends a request. @throws NoAnswer */
async function answer(send: typeof fetch, url: string, init: RequestInit): Promise<Answer> {
  try {
    const response = await send(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, headers: response.headers, body: await response.text() };
  } catch (err) {
    throw new NoAnswer(whyNoAnswer(err, new URL(url)));
  }
}

/** Why a request failed, in plain words: Node says it in the code of a cause. */
function whyNoAnswer(err: unknown, { host }: URL): string {
  if (err instanceof Error && err.name === 'TimeoutError')
    return `${host} gave no answer within ${TIMEOUT_MS / 1000} s.`;
  const code = codeOf(err);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `${host} has no address (${code}). Check the name, and the route or custom domain.`;
  if (code === 'ECONNREFUSED') return `nothing listens at ${host}. Check the port, or start the server.`;
  if (/CERT|SIGNATURE|ERR_TLS|SSL|EPROTO/.test(code)) {
    return `the TLS connection to ${host} failed (${code}). Its certificate is missing, has expired or is for another name.`;
  }
  return `${host} could not be asked (${code}).`;
}

function codeOf(err: unknown): string {
  for (let at = err; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at.cause === undefined) return at.message;
  }
  return String(err);
}

async function onlyHttps(send: typeof fetch, host: string): Promise<string> {
  let given: Answer;
  try {
    given = await answer(send, `http://${host}/api/v1/ping`, {});
  } catch (err) {
    if (err instanceof NoAnswer) return 'plain http is not answered';
    throw err;
  }
  const location = given.headers.get('location') ?? '';
  if (given.status >= 300 && given.status < 400 && location.startsWith(`https://${host}/`))
    return 'plain http is sent on to https';
  if (given.status === 403 && isOurs(given) && problemOf(given)?.code === 'https_required')
    return 'plain http is refused by the service';
  throw new Failure(
    `plain http is answered with ${given.status}: keys sent there can be read on the way. Turn on "Always Use HTTPS" for the zone.`,
  );
}

const status = z.object({ status: z.enum(['ok', 'paused']) });

/** Reads the answer of /healthz. @throws Failure */
function isPaused(given: Answer): boolean {
  const found = status.safeParse(given.status === 200 ? jsonOf(given.body) : undefined);
  if (!found.success) throw new Failure(whoAnswered(given));
  return found.data.status === 'paused';
}

/** @throws Failure */
function exactly401(given: Answer): string {
  const fault = wrongWith401(given);
  if (fault !== undefined) throw new Failure(fault);
  return 'our 401, byte by byte';
}

/** What is wrong with an answer that should be the constant 401; undefined if nothing is. */
function wrongWith401(given: Answer): string | undefined {
  const { headers } = given;
  if (given.status !== 401) return whoAnswered(given);
  const cookie = headers.get('set-cookie');
  if (cookie !== null) {
    return `Set-Cookie (${cookie.split('=')[0]}) was added on the way. A proxy, load balancer or bot protection in front keeps sessions; switch that off for /api/*.`;
  }
  if (given.body !== UNAUTHORIZED) return `a 401 that is not ours. ${whoAnswered(given)}`;
  for (const [name, value] of Object.entries(REQUIRED_HEADERS)) {
    const found = headers.get(name);
    if (found !== value)
      return `${name} is ${found ?? 'missing'} instead of ${value}. A proxy or a transform rule changes headers; leave /api/* alone.`;
  }
  const telltale = TELLTALE_HEADERS.find((name) => headers.has(name));
  if (telltale !== undefined)
    return `${telltale} came with the 401. Something on the way adds it; a prober learns from it.`;
  return ID.test(headers.get('x-request-id') ?? '')
    ? undefined
    : 'X-Request-Id is missing or is not ours. A proxy in front changes headers.';
}

/** The names of an answer's headers, but for those of the transport and of the edge's cache, which differ by chance. */
function namesOf({ headers }: Answer): string {
  const byChance =
    /^(date|connection|keep-alive|transfer-encoding|content-length|content-encoding|vary|age|cf-.*|alt-svc|nel|report-to|server-timing)$/;
  return [...headers.keys()].filter((name) => !byChance.test(name)).join(', ');
}

/** Whether an answer has what the service puts on every one of its own. */
const isOurs = ({ headers }: Answer) =>
  headers.get('x-content-type-options') === 'nosniff' && ID.test(headers.get('x-request-id') ?? '');

const problem = z.object({ code: z.string(), detail: z.string() });

/** The problem in an answer, if it is one that has a code. */
const problemOf = ({ body }: Answer) => problem.safeParse(jsonOf(body)).data;

/** Cloudflare's own refusals, by the number in their text. */
const CLOUDFLARE_ERRORS: Record<string, string> = {
  '1010': 'the browser integrity check refuses this User-Agent. Skip it for /api/*',
  '1015': 'a rate limiting rule of the zone refuses. Limits are kept by the service; exempt /api/*',
  '1020': 'a firewall rule of the zone refuses. Exempt /api/*',
};

/** Whose answer this is when it is not the one that was expected, and what to do about it. */
function whoAnswered({ status, headers, body }: Answer): string {
  const location = headers.get('location');
  if (location !== null && status >= 300 && status < 400) {
    return isAccess(location)
      ? `Cloudflare Access answers with its sign-in (${status} to ${address(location)}). Automations cannot sign in: let its application cover /settings only.`
      : `a redirect (${status} to ${address(location)}). Something in front sends callers elsewhere; automations do not follow it with their key.`;
  }
  if (headers.get('cf-mitigated') === 'challenge') {
    return `Cloudflare answers with a challenge (${status}): bot fight mode, under attack mode, or a rule with a challenge. Exempt /api/*; bot fight mode has to be off for the whole zone.`;
  }
  const error = /\b(?:error code:? ?|cf-error-code">)(1\d{3})\b/i.exec(body)?.[1];
  if (error !== undefined)
    return `Cloudflare answers ${status}, error ${error}: ${CLOUDFLARE_ERRORS[error] ?? 'look it up in its documentation'}.`;
  const problem = problemOf({ status, headers, body });
  if (problem && isOurs({ status, headers, body })) {
    return `the service answers ${status} ${problem.code}: ${problem.detail.slice(0, 200)}`;
  }
  const server = headers.get('server');
  const what = /text\/html/.test(headers.get('content-type') ?? '')
    ? `an HTML page${titleOf(body)}`
    : 'not in our form';
  return `it answers ${status}, ${what}${server === null ? '' : `, by ${server.slice(0, 40)}`}. Is this the address of the service, in its present release, and is nothing else in front?`;
}

/** An address without what may be secret in it. */
const address = (location: string) => location.replace(/[?#].*$/, '').slice(0, 100);

const isAccess = (location: string) => /^https:\/\/[^/]+\.cloudflareaccess\.com\/|\/cdn-cgi\/access\//.test(location);

const titleOf = (html: string) => {
  const title = /<title>([^<]{1,60})/i.exec(html)?.[1]?.trim();
  return title === undefined ? '' : ` ("${title}")`;
};

/** @throws Failure unless both the start of the settings area and a page asked for with a forged token are refused. */
function guarded(start: Answer, page: Answer): string {
  const location = start.headers.get('location') ?? '';
  const leads = start.status >= 300 && start.status < 400;
  if (isOpen(start) || (leads && /^(https?:\/\/[^/]+)?\/settings\//.test(location))) {
    throw new Failure(
      `open without a sign-in (${start.status}). Take the route away at once; then put Access or your gateway in front.`,
    );
  }
  // The service says 403 and 404 only to somebody whose token it believes.
  if (isOpen(page) || (isOurs(page) && [403, 404].includes(page.status))) {
    throw new Failure(
      `a forged token is believed (${page.status}). Take the route away at once; then look at ADMIN_ISSUER and ADMIN_JWKS_URL.`,
    );
  }
  if (leads) return isAccess(location) ? 'guarded by Cloudflare Access' : `leads to a sign-in: ${address(location)}`;
  if (!isOurs(start) || ![401, 403, 503].includes(start.status)) throw new Failure(whoAnswered(start));
  for (const [name, part] of Object.entries(PAGE_HEADERS)) {
    if (start.headers.get(name)?.includes(part)) continue;
    throw new Failure(`${name} lacks ${part}. A proxy or a transform rule changes headers; leave /settings alone.`);
  }
  return start.status === 503
    ? 'closed by the service (503): nobody can sign in until ADMIN_ISSUER and ADMIN_AUDIENCE are set and the issuer answers'
    : `guarded by the service (${start.status}); no sign-in page stands in front`;
}

const isOpen = ({ status }: Answer) => status >= 200 && status < 300;

const ping = z.object({ ok: z.literal(true), organizationId: z.string(), scopes: z.array(z.string()) });

function pinged(given: Answer): string {
  if (given.status === 401)
    throw new Failure('401: the key is unknown here, revoked, expired or blocked, or its organization is inactive.');
  const found = ping.safeParse(given.status === 200 ? jsonOf(given.body) : undefined);
  if (!found.success) throw new Failure(whoAnswered(given));
  const expires = given.headers.get('api-key-expires-at');
  return `200, organization ${found.data.organizationId}, ${found.data.scopes.join(' and ')}${expires === null ? '' : `, until ${expires}`}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    return undefined;
  }
}
