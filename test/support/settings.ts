import { env } from 'cloudflare:workers';
import { makeSignIn } from './sign-in.ts';
import { importRecords, makeApi, makeOrganization, rowsOf } from './world.ts';

/** The sign-in service of all settings areas of a test file. */
export const signIn = await makeSignIn();

type Api = Pick<ReturnType<typeof makeApi>, 'send'>;
type Fields = Record<string, string | string[]>;

/** The fields of a valid form for a new key, except for its token. */
export const NEW_KEY = { name: 'n8n prod', scopes: 'tickets:note:write', expires: 'none' };

/** A form as a browser encodes it. */
export function formBody(fields: Fields): string {
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  ).toString();
}

/** The settings pages of an organization, as the person with this email address uses them. */
export async function openSettings(api: Api, organization: string, email: string, now: () => number = Date.now) {
  /** The headers of a form that is sent. */
  const headers = {
    'Cf-Access-Jwt-Assertion': await signIn.token(email, { expiresIn: 30 * 24 * 3600, now }),
    Origin: 'https://api.example',
    'Content-Type': 'application/x-www-form-urlencoded',
  };
  const base = `/settings/${organization}`;

  const get = async (path: string) => {
    const response = await api.send(`${base}${path}`, {
      headers: { 'Cf-Access-Jwt-Assertion': headers['Cf-Access-Jwt-Assertion'] },
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  /** A form about a key that does not name companies is for all of them. */
  const post = async (path: string, fields: Fields | string, more: Record<string, string> = {}) => {
    const defaults: Fields = /^\/keys(\/[^/]+\/(change|replace))?$/.test(path) ? { companies: '*' } : {};
    const response = await api.send(`${base}${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: typeof fields === 'string' ? fields : formBody({ ...defaults, ...fields }),
    });
    return {
      status: response.status,
      text: await response.text(),
      location: response.headers.get('Location'),
      notice: decodeURIComponent(
        /^__Host-notice=.*?%20(?:good|neutral|warning)%20([^;]*)/.exec(response.headers.get('Set-Cookie') ?? '')?.[1] ??
          '',
      ),
      headers: response.headers,
    };
  };
  /** Sends the form for a new key, with a token of its own. */
  const createKey = (fields: Fields = {}) => post('/keys', { token: crypto.randomUUID(), ...NEW_KEY, ...fields });
  return { base, headers, get, post, createKey };
}

/**
 * The settings area of a new organization, with its administrator signed in, and the API of the
 * same deployment.
 */
export async function makeSettings(
  options: Parameters<typeof makeOrganization>[0] & Parameters<typeof makeApi>[0] = {},
) {
  const organization = await makeOrganization(options);
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada <b>Lovelace</b>', admin: true });
  const api = makeApi({ ...options, config: { signIn: signIn.config, ...options.config } });
  return { organization, api, ...(await openSettings(api, organization, email, options.now)) };
}

/** The key value that a page or an output shows. */
export const keyIn = (text: string) => /twb_[0-9A-Za-z]{46}/.exec(text)?.[0] ?? 'no key shown';

/** The actions in an organization's audit log, in order. */
export const auditedActions = async (organization: string) =>
  (await rowsOf('audit_log', organization)).map(({ action }) => action);

/**
 * Gives an organization so many more keys: copies of the key with this id, with ids that begin with
 * `prefix` and a chain of their own.
 */
export async function copyKey(
  organization: string,
  keyId: string,
  { prefix, count, revoked = false }: { prefix: string; count: number; revoked?: boolean },
): Promise<void> {
  await env.DB.prepare(
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, revoked_at, revoked_by)
     select organization_id, ?1 || printf('%03d', value), ?1 || printf('%03d', value), ?1 || value, lower(hex(randomblob(32))), hint, scopes, created_at,
       created_by, iif(?4, 1, null), iif(?4, created_by, null)
     from api_keys, json_each(?5) where organization_id = ?2 and api_keys.id = ?3`,
  )
    .bind(prefix, organization, keyId, revoked ? 1 : 0, JSON.stringify(Array.from({ length: count }, (_, i) => i)))
    .run();
}
