import * as z from 'zod';
import { generateKey } from '../domain/api-key.ts';
import { isLoopback } from '../lib/loopback.ts';
import { check, Failure, type Finding, jsonOf, NoResponse, type ProbeResponse, sendProbe } from './probe.ts';

/** The User-Agents of automation tools. Bot protection and browser checks decide by them. */
const USER_AGENTS = {
  n8n: 'axios/1.12.0',
  Make: 'Make/production',
  Zapier: 'Zapier',
  Go: 'Go-http-client/2.0',
  Python: 'python-requests/2.32.5',
  'an empty one': '',
};

/** Text that logs in a note contain, and that a firewall may take for an attack. */
const SUSPICIOUS = `<script>alert(1)</script> ' OR 1=1; DROP TABLE users -- ../../etc/passwd \${jndi:ldap://x/a} () { :;}; rm -rf /`;

/** The constant body of a 401, and its required headers. */
const UNAUTHORIZED = '{"type":"about:blank","title":"Unauthorized","status":401}';
const REQUIRED_HEADERS = {
  'content-type': 'application/problem+json',
  'www-authenticate': 'Bearer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};
/** What the headers of the service's own pages must contain. */
const PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'",
  'x-frame-options': 'DENY',
  'strict-transport-security': 'max-age=',
};
/** Headers that reveal a limit, and so a key. */
const TELLTALE_HEADERS = ['ratelimit', 'ratelimit-policy', 'retry-after', 'api-key-expires-at'];

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** As automations and strangers reach it; with a `key`, also a ping with it. Writes nothing. */
export async function* diagnose(url: URL, key?: string, send: typeof fetch = fetch): AsyncGenerator<Finding> {
  const loopback = isLoopback(url.hostname);
  const origin = loopback ? url.origin : `https://${url.host}`;
  const ask = (path: string, init: RequestInit = {}) => sendProbe(send, `${origin}${path}`, init);
  const post = (headers: Record<string, string> = {}, message = 'A test from the doctor') =>
    ask('/api/v1/tickets/1/notes', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ message }),
    });

  if (!loopback) yield await check('https', () => onlyHttps(send, url.host));

  // Report a cause once, even if it affects every request.
  let paused = false;
  let limits = '';
  const healthz = await check('/healthz', async () => {
    const found = bodyOf(await ask('/healthz'), health);
    paused = found.status === 'paused';
    limits = found.limits;
    if (!paused) return 'ok';
    throw new Failure(
      'paused: the API responds with 503 and was not checked. To end the pause: npm run ops -- switch MODE open',
    );
  });
  yield healthz;
  if (!healthz.answered) return;

  const keyless = paused ? undefined : await check('a POST without a key', async () => require401(await post()));
  if (keyless) yield keyless;
  if (keyless?.ok) {
    yield await check('the User-Agents of automations', async () => {
      const answers = await Promise.all(
        Object.entries(USER_AGENTS).map(
          async ([tool, agent]) => [tool, wrongWith401(await post({ 'User-Agent': agent }))] as const,
        ),
      );
      const wrong = answers.filter(([, fault]) => fault !== undefined);
      if (wrong.length === 0) return `the same response to ${Object.keys(USER_AGENTS).join(', ')}`;
      const tools = wrong.map(([tool]) => tool).join(', ');
      throw new Failure(
        `${tools}: ${wrong[0]?.[1]} Others get the expected response: bot protection or the browser integrity check blocks this User-Agent.`,
      );
    });
    yield await check('a note that quotes an attack', async () => {
      require401(
        await post({}, SUSPICIOUS),
        (fault) =>
          `${fault} A harmless note gets the expected response: a firewall blocks by the text. Skip managed rules for /api/*, or notes with logs are lost.`,
      );
      return 'no firewall blocks notes by their text';
    });
    yield await check('wrong keys', async () => {
      const reference = namesOf(await post());
      const prefix = key?.slice(0, key.indexOf('_')) ?? 'twb';
      const wrong = { 'a malformed key': `${prefix}_no`, 'an unknown key': generateKey(prefix) };
      for (const [what, value] of Object.entries(wrong)) {
        const given = await post({ Authorization: `Bearer ${value}` });
        require401(given, (fault) => `${what} gets a different response: ${fault}`);
        if (namesOf(given) !== reference)
          throw new Failure(
            `${what} gets different headers: ${namesOf(given)} instead of ${reference}. A proxy adds or removes them.`,
          );
      }
      return `a malformed or unknown key (${prefix}_…) gets the same response as a missing one`;
    });
    yield await check('forged headers', async () => {
      const id = '00000000-0000-4000-8000-000000000000';
      const given = await post({
        'X-Request-Id': id,
        'X-Forwarded-For': '127.0.0.1',
        'X-Forwarded-Host': 'example.com',
        Forwarded: 'for=127.0.0.1',
      });
      require401(given, (fault) => `X-Forwarded-For or X-Forwarded-Host changes the response: ${fault}`);
      if (given.headers.get('x-request-id') === id)
        throw new Failure(
          'the response has the X-Request-Id of the caller. A proxy replaces that of the service, so requests cannot be found in the log.',
        );
      return 'X-Forwarded-For is ignored, X-Request-Id comes from the service';
    });
  }

  yield await check('/settings', async () => guarded(await ask('/settings'), await ask('/settings/x/keys', FORGED)));
  yield await check('/docs', async () => {
    const given = await ask('/docs');
    if (given.status === 200 && isStatic(given)) return 'the reference is available';
    throw new Failure(whoAnswered(given));
  });
  yield await check('/.well-known/security.txt', async () => {
    const given = await ask('/.well-known/security.txt');
    if (given.status === 404 && isOurs(given)) return 'there is none: SECURITY_CONTACT is empty';
    if (given.status === 200 && isOurs(given)) return validContact(given.body);
    throw new Failure(whoAnswered(given));
  });
  yield await check('/api/v1/openapi.json', async () => {
    const given = await ask('/api/v1/openapi.json');
    if (!isStatic(given)) throw new Failure(whoAnswered(given));
    const document = bodyOf(given, contract);
    if (document.info.description.includes(limits)) return 'the document is available, with the limits of the service';
    throw new Failure(
      `the documentation states other limits than the service has (${limits}). They are rendered by npm run deploy: run it again.`,
    );
  });
  const tools = (headers: Record<string, string> = {}) => ask('/mcp', agentMessage('tools/list', headers));
  let hasAgents = false;
  yield await check('/mcp', async () => {
    const given = await tools();
    hasAgents = given.status !== 404 || !isOurs(given);
    return hasAgents ? agentsAnswered(given, paused) : 'not deployed: there is nothing for AI agents';
  });
  if (key === undefined || paused) return;
  const authorization = { Authorization: `Bearer ${key}` };
  const ping = () => ask('/api/v1/ping', { headers: authorization });
  yield await check('ping with the key', async () => pinged(await ping()));
  if (hasAgents)
    yield await check('/mcp with the key', async () => sameAsPing(await ping(), await tools(authorization)));
}

/** A message as AI agents send it. */
export const agentMessage = (method: string, headers: Record<string, string>, params?: object): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

/** An unsigned token that names an administrator. */
const FORGED = {
  headers: {
    'Cf-Access-Jwt-Assertion': `${btoa('{"alg":"none"}')}.${btoa('{"email":"ada@northwind.example","exp":9999999999}')}.`,
    Cookie: 'CF_Authorization=x',
  },
};

export async function onlyHttps(send: typeof fetch, host: string): Promise<string> {
  let given: ProbeResponse;
  try {
    given = await sendProbe(send, `http://${host}/api/v1/ping`, {});
  } catch (err) {
    if (err instanceof NoResponse) return 'no response to plain http';
    throw err;
  }
  const location = given.headers.get('location') ?? '';
  if (given.status >= 300 && given.status < 400 && location.startsWith(`https://${host}/`))
    return 'plain http is redirected to https';
  if (given.status === 403 && isOurs(given) && problemOf(given)?.code === 'https_required')
    return 'plain http is refused by the service';
  throw new Failure(
    `plain http gets a ${given.status}: others on the network can read keys sent over it. Turn on "Always Use HTTPS" for the zone.`,
  );
}

/** How long before it expires a contact should be renewed. */
const RENEW_MS = 30 * 86_400_000;

function validContact(body: string): string {
  const [, expires = ''] = /^Expires: (.+)$/m.exec(body) ?? [];
  if (Date.parse(expires) - Date.now() > RENEW_MS) return `the contact is valid until ${expires.slice(0, 10)}`;
  throw new Failure(
    `the contact for vulnerabilities is valid until ${expires.slice(0, 10)}, and readers ignore it after that. Check SECURITY_CONTACT, and set a later SECURITY_EXPIRES.`,
  );
}

const health = z.object({ status: z.enum(['ok', 'paused']), limits: z.string() });
const contract = z.object({ openapi: z.string().startsWith('3.1.'), info: z.object({ description: z.string() }) });

/** The body of a 200. @throws Failure unless it has this shape */
export function bodyOf<Shape extends z.ZodType>(given: ProbeResponse, shape: Shape): z.output<Shape> {
  const found = shape.safeParse(given.status === 200 ? jsonOf(given.body) : undefined);
  if (!found.success) throw new Failure(whoAnswered(given));
  return found.data;
}

/** @throws Failure unless the response is the constant 401; `explain` gets the difference */
export function require401(given: ProbeResponse, explain = (fault: string) => fault): string {
  const fault = wrongWith401(given);
  if (fault !== undefined) throw new Failure(explain(fault));
  return 'exactly the 401 of the service';
}

/** What is wrong with a response that should be the constant 401; undefined if nothing is. */
function wrongWith401(given: ProbeResponse): string | undefined {
  const { headers } = given;
  if (given.status !== 401) return whoAnswered(given);
  const cookie = headers.get('set-cookie');
  if (cookie !== null) {
    return `Set-Cookie (${cookie.split('=')[0]}) was added on the way. A proxy, load balancer or bot protection uses sessions; turn that off for /api/*.`;
  }
  if (given.body !== UNAUTHORIZED) return `a 401 that is not from the service. ${whoAnswered(given)}`;
  for (const [name, value] of Object.entries(REQUIRED_HEADERS)) {
    const found = headers.get(name);
    if (found !== value)
      return `${name} is ${found ?? 'missing'} instead of ${value}. A proxy or a transform rule changes headers; exclude /api/* from it.`;
  }
  const telltale = TELLTALE_HEADERS.find((name) => headers.has(name));
  if (telltale !== undefined) return `${telltale} is in the 401. A proxy adds it, and an attacker learns from it.`;
  return ID.test(headers.get('x-request-id') ?? '')
    ? undefined
    : 'X-Request-Id is missing or is not from the service. A proxy changes headers.';
}

/** Without the headers of the transport and the edge's cache, which vary between responses. */
export function namesOf({ headers }: ProbeResponse): string {
  const varying =
    /^(date|connection|keep-alive|transfer-encoding|content-length|content-encoding|vary|age|cf-.*|alt-svc|nel|report-to|server-timing)$/;
  return [...headers.keys()].filter((name) => !varying.test(name)).join(', ');
}

/** Whether a response has the headers that the Worker sets on every response. */
export const isOurs = ({ headers }: ProbeResponse) =>
  headers.get('x-content-type-options') === 'nosniff' && ID.test(headers.get('x-request-id') ?? '');

/** Whether a response has the headers of all static files. They have no request id. */
const isStatic = ({ headers }: ProbeResponse) =>
  headers.get('x-content-type-options') === 'nosniff' &&
  (headers.get('content-security-policy') ?? '').startsWith("default-src 'none'");

const problem = z.object({ code: z.string(), detail: z.string() });

const problemOf = ({ body }: ProbeResponse) => problem.safeParse(jsonOf(body)).data;

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
    return `the service responds with ${status} ${problem.code}: ${problem.detail.slice(0, 200)}`;
  }
  const server = headers.get('server');
  const what = /text\/html/.test(headers.get('content-type') ?? '')
    ? `an HTML page${titleOf(body)}`
    : 'not a response of the service';
  return `the response is ${status}, ${what}${server === null ? '' : `, by ${server.slice(0, 40)}`}. Check the address, that the current release is deployed, and what is in front of it.`;
}

/** An address without its query and fragment, which may contain secrets. */
const address = (location: string) => location.replace(/[?#].*$/, '').slice(0, 100);

const isAccess = (location: string) => /^https:\/\/[^/]+\.cloudflareaccess\.com\/|\/cdn-cgi\/access\//.test(location);

const titleOf = (html: string) => {
  const title = /<title>([^<]{1,60})/i.exec(html)?.[1]?.trim();
  return title === undefined ? '' : ` ("${title}")`;
};

/** @throws Failure unless the start page, and a page requested with a forged token, are refused */
export function guarded(start: ProbeResponse, page: ProbeResponse): string {
  const location = start.headers.get('location') ?? '';
  const redirects = start.status >= 300 && start.status < 400;
  if (isOpen(start) || (redirects && /^(https?:\/\/[^/]+)?\/settings\//.test(location))) {
    throw new Failure(
      `open without a sign-in (${start.status}). Remove the route now, then put Access or your gateway in front.`,
    );
  }
  // The service responds with 403 or 404 only after it has accepted the token.
  if (isOpen(page) || (isOurs(page) && [403, 404].includes(page.status))) {
    throw new Failure(
      `a forged token is accepted (${page.status}). Remove the route now, then check ADMIN_ISSUER and ADMIN_JWKS_URL.`,
    );
  }
  if (redirects)
    return isAccess(location) ? 'protected by Cloudflare Access' : `redirects to a sign-in: ${address(location)}`;
  if (!isOurs(start) || ![401, 403, 503].includes(start.status)) throw new Failure(whoAnswered(start));
  for (const [name, part] of Object.entries(PAGE_HEADERS)) {
    if (start.headers.get(name)?.includes(part)) continue;
    throw new Failure(`${name} lacks ${part}. A proxy or a transform rule changes headers; exclude /settings from it.`);
  }
  return start.status === 503
    ? 'closed by the service (503): administrators can sign in once ADMIN_ISSUER and ADMIN_AUDIENCE are set and the issuer responds'
    : `protected by the service (${start.status}); no sign-in page is in front of it`;
}

const isOpen = ({ status }: ProbeResponse) => status >= 200 && status < 300;

const pingShape = z.object({ ok: z.literal(true), organizationId: z.string(), scopes: z.array(z.string()) });

function pinged(given: ProbeResponse): string {
  if (given.status === 401)
    throw new Failure('401: the key is unknown here, revoked, expired or blocked, or its organization is inactive.');
  const { organizationId, scopes } = bodyOf(given, pingShape);
  const expires = given.headers.get('api-key-expires-at');
  return `200, organization ${organizationId}, ${scopes.join(' and ')}${expires === null ? '' : `, until ${expires}`}`;
}

/** What the Worker for AI agents answers without a key. @throws Failure if its MODE is another one */
function agentsAnswered(given: ProbeResponse, paused: boolean): string {
  const problem = isOurs(given) ? problemOf(given) : undefined;
  const isPaused = problem?.code === 'unavailable' && problem.detail.includes('paused');
  if (isPaused && paused) return 'paused, as the API is';
  if (isPaused || (paused && wrongWith401(given) === undefined)) {
    throw new Failure(
      `${isPaused ? 'paused, and the API is open' : 'open, and the API is paused'}: the two Workers have different values of MODE. Set both: npm run ops -- switch MODE ${paused ? 'paused' : 'open'}`,
    );
  }
  return `deployed; ${require401(given)}`;
}

function sameAsPing(ping: ProbeResponse, agents: ProbeResponse): string {
  if ((ping.status === 401) === (agents.status === 401)) return 'the key gets the same answer as from the API';
  throw new Failure(
    `the key gets ${agents.status} here and ${ping.status} from the API. If it was revoked just now, try again; otherwise the two Workers have different values of BLOCKED_KEYS or KEY_PREFIX, or different databases. For BLOCKED_KEYS: npm run ops -- switch BLOCKED_KEYS LIST`,
  );
}
