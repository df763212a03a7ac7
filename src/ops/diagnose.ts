import * as z from 'zod';
import { generateKey } from '../domain/api-key.ts';
import { isLoopback } from '../lib/loopback.ts';
import { diagnoseDatabase, type ExpectedDatabase } from './diagnose-database.ts';
import { diagnoseKey, listTools } from './diagnose-key.ts';
import { Failure, type Finding, NoResponse, type ProbeResponse, type Prober, proberOf, sendProbe } from './probe.ts';
import { address, bodyOf, isAccess, isOurs, problemOf, require401, whoAnswered, wrongWith401 } from './responses.ts';

interface Diagnosis {
  url: URL;
  key?: string | undefined;
  /** The ticket that gets one note, if there is a key. */
  ticket?: string | undefined;
  database?: ExpectedDatabase | undefined;
  send?: typeof fetch;
}

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

/**
 * Checks what can be checked with what is given, in one order: as automations and strangers reach the service, then with a
 * key, then in the database. Writes nothing without a `ticket`.
 */
export async function* diagnose({ url, key, ticket, database, send = fetch }: Diagnosis): AsyncGenerator<Finding> {
  const loopback = isLoopback(url.hostname);
  const prober = proberOf(loopback ? url.origin : `https://${url.host}`, send);
  if (!loopback) yield await prober.check('https', () => onlyHttps(send, url.host));
  const isOpen = yield* diagnoseService(prober, key);
  if (key !== undefined && isOpen) yield* diagnoseKey(prober, key, ticket);
  if (database) yield* diagnoseDatabase(database);
}

/** As automations and strangers reach it, until it is paused. A `key` only gives its prefix to wrong keys. */
async function* diagnoseService(prober: Prober, key: string | undefined): AsyncGenerator<Finding, boolean> {
  const { ask, check } = prober;
  // Report a cause once, even if it affects every request.
  let paused = false;
  const healthz = await check('/healthz', async () => {
    paused = bodyOf(await ask('/healthz'), health).status === 'paused';
    if (!paused) return 'ok';
    throw new Failure(
      'paused: the API responds with 503 and was not checked. To end the pause: npm run ops -- switch MODE open',
    );
  });
  yield healthz;
  if (!healthz.answered) return false;
  if (!paused) yield* diagnosePosts(prober, key);
  yield await check('/settings', async () => guarded(await ask('/settings'), await ask('/settings/x/keys', FORGED)));
  yield await check('/psa', async () => {
    const given = await ask('/psa', { method: 'POST' });
    if (given.status === 404 && isOurs(given)) return 'off';
    if (given.status === 401 && isOurs(given)) return 'on; refuses a message without a signature';
    throw new Failure(whoAnswered(given));
  });
  yield await check('/mcp', async () => agents(await ask('/mcp', listTools()), paused));
  return !paused;
}

/** Posts without a valid key: each must get the 401 of the service. */
async function* diagnosePosts({ ask, check }: Prober, key: string | undefined): AsyncGenerator<Finding> {
  const post = (headers: Record<string, string> = {}, message = 'A test from the doctor') =>
    ask('/api/v1/tickets/1/notes', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ message }),
    });
  const keyless = await check('a POST without a key', async () => require401(await post()));
  yield keyless;
  if (!keyless.ok) return;
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
    const prefix = key?.slice(0, key.indexOf('_')) ?? 'twb';
    const wrong = { 'a malformed key': `${prefix}_no`, 'an unknown key': generateKey(prefix) };
    for (const [what, value] of Object.entries(wrong))
      require401(
        await post({ Authorization: `Bearer ${value}` }),
        (fault) => `${what} gets a different response: ${fault}`,
      );
    return `a malformed or unknown key (${prefix}_…) gets the same response as a missing one`;
  });
}

/** @throws Failure if something else responds at the address of the Worker for AI agents */
function agents(given: ProbeResponse, paused: boolean): string {
  if (given.status === 404 && isOurs(given)) return 'not deployed: there is nothing for AI agents';
  if (paused && given.status === 503 && isOurs(given)) return 'paused, as the API is';
  return `deployed; ${require401(given)}`;
}

/** An unsigned token that names an administrator. */
const FORGED = {
  headers: {
    'Cf-Access-Jwt-Assertion': `${btoa('{"alg":"none"}')}.${btoa('{"email":"ada@northwind.example","exp":9999999999}')}.`,
    Cookie: 'CF_Authorization=x',
  },
};

async function onlyHttps(send: typeof fetch, host: string): Promise<string> {
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

const health = z.object({ status: z.enum(['ok', 'paused']) });

/** @throws Failure unless the start page, and a page requested with a forged token, are refused */
function guarded(start: ProbeResponse, page: ProbeResponse): string {
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
  return start.status === 503
    ? 'closed by the service (503): administrators can sign in once ADMIN_ISSUER and ADMIN_AUDIENCE are set and the issuer responds'
    : `protected by the service (${start.status}); no sign-in page is in front of it`;
}

const isOpen = ({ status }: ProbeResponse) => status >= 200 && status < 300;
