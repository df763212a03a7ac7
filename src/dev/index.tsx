import { Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { generateKeyPair, type JWTVerifyGetKey, SignJWT } from 'jose';
import { createAgents } from '../agents/app.ts';
import { createApp } from '../app.ts';
import { Frame } from '../http/page/frame.tsx';
import { runJobs } from '../jobs.ts';
import { fromCaller } from '../rpc/api.ts';
import { query } from '../services/call-d1.ts';
import * as startup from '../startup.ts';
import { findLocalAdministrators } from './local-statements.ts';

export { RateLimiter } from '../durable-objects/rate-limiter.ts';
export { Pusher } from '../modules/push/pusher.ts';
export { Connection } from '../rpc/connection.ts';

// The entry point of `npm start`, instead of src/index.ts and src/agents/index.ts: the same two apps
// in one Worker, and a page where anyone can sign in as any local administrator. It signs tokens with
// its own key, so the app checks them like those of a real sign-in service.

const ISSUER = 'http://local.invalid';
const AUDIENCE = 'local-settings';
const HEADER = 'Cf-Access-Jwt-Assertion';
const COOKIE = 'local-sign-in';
const READY = '/dev/ready';
const SIGN_IN = '/dev/sign-in';
const SIGN_OUT = '/dev/sign-out';

/** Generated on first use, because a Worker has no random numbers while it starts. */
let keyPair: ReturnType<typeof generateKeyPair> | undefined;
const localKeys = () => {
  keyPair ??= generateKeyPair('ES256');
  return keyPair;
};
const keys: JWTVerifyGetKey = async () => (await localKeys()).publicKey;

const config = {
  ...startup.config,
  // People reach a local run over Docker or the LAN.
  allowPlainHttp: true,
  signIn: { issuer: ISSUER, audience: AUDIENCE, header: HEADER, keys, signOutPath: SIGN_OUT },
};
const { contributions } = startup;
const app = createApp(config, contributions);
const agents = createAgents();

/** The organizations of demo-directory.ndjson, with the one that the README is about first. */
const DEMO_ORGANIZATIONS = ['northwind', 'fabrikam', 'contoso'];

const DEADLINE_MS = 10_000;

type LocalAdministrator = Awaited<ReturnType<typeof findLocalAdministrators>>[number];

const People = ({ administrators }: { administrators: readonly LocalAdministrator[] }) => (
  <div class="sheet">
    <table>
      <thead>
        <tr>
          <th scope="col">Sign in as</th>
          <th scope="col">Administers</th>
        </tr>
      </thead>
      <tbody>
        {administrators.map(({ email, name, administers }) => (
          <tr>
            <th scope="row">
              <form method="post" action={SIGN_IN}>
                <button type="submit" class="quiet" name="email" value={email}>
                  {name}
                </button>
                <p class="minor">{email}</p>
              </form>
            </th>
            <td data-label="Administers">{administers}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/**
 * Lists the people who administer an organization here, those of the demo data first, the others in a fold. Choosing one
 * signs in without a password.
 */
function SignInPage({ administrators }: { administrators: readonly LocalAdministrator[] }) {
  const ofDemo = administrators.filter((one) => one.place !== null);
  const others = administrators.filter((one) => one.place === null);
  return (
    <Frame title="Local sign-in" home="/docs">
      <h1>Local sign-in</h1>
      <p>
        This page exists only on your machine. Choose who you are: an administrator creates and revokes the keys of an
        organization, reads its audit log, and sets its key rules.
      </p>
      <People administrators={ofDemo} />
      {others.length > 0 && (
        <details open={ofDemo.length === 0}>
          <summary>{others.length} others</summary>
          <People administrators={others} />
        </details>
      )}
    </Frame>
  );
}

const local = new Hono<{ Bindings: Env }>()
  // Polled by `npm start` until the Worker runs. /healthz would write a log line each time.
  .get(READY, (c) => c.body(null, 204))
  .get(SIGN_IN, async (c) => {
    const ctx = { db: c.env.DB, deadlineAt: Date.now() + DEADLINE_MS };
    const administrators = await query(ctx, 'nothing_written', (db) => findLocalAdministrators(db, DEMO_ORGANIZATIONS));
    return c.html(<SignInPage administrators={administrators} />);
  })
  .post(SIGN_IN, async (c) => {
    const { email } = await c.req.parseBody();
    const { privateKey } = await localKeys();
    const token = await new SignJWT({ email, email_verified: true })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime('12h')
      .sign(privateKey);
    setCookie(c, COOKIE, token, { path: '/', httpOnly: true, sameSite: 'Strict' });
    return c.redirect('/settings', 303);
  })
  .get(SIGN_OUT, (c) => {
    setCookie(c, COOKIE, '', { path: '/', maxAge: 0 });
    return c.redirect(SIGN_IN, 303);
  })
  .all('/settings/*', async (c) => {
    const token = getCookie(c, COOKIE);
    const headers = new Headers(c.req.raw.headers);
    if (token !== undefined) headers.set(HEADER, token);
    const response = await app.fetch(new Request(c.req.raw, { headers }), c.env, c.executionCtx);
    return response.status === 401 ? c.redirect(SIGN_IN, 303) : response;
  })
  .all('/mcp', (c) => {
    const send = async (request: Request, address: string | null) =>
      app.fetch(fromCaller(request, address), c.env, c.executionCtx);
    return agents.fetch(c.req.raw, { API: { send } }, c.executionCtx);
  })
  .all('*', (c) => app.fetch(c.req.raw, c.env, c.executionCtx));

export default {
  fetch: local.fetch,
  scheduled: ({ cron }, { DB }) => runJobs(cron, { db: DB, config, contributions }),
} satisfies ExportedHandler<Env>;
