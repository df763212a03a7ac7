import { makeSignIn } from './sign-in.ts';
import { importRecords, makeApi, makeOrganization } from './world.ts';

/** The sign-in service of all settings areas in a test file. */
export const signIn = await makeSignIn();

type Api = Pick<ReturnType<typeof makeApi>, 'send'>;
type Fields = Record<string, string | string[]>;

/** A form as a browser encodes it. */
export function formBody(fields: Fields): string {
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  ).toString();
}

/** The pages of an organization, opened and sent by whoever has the e-mail address. */
export async function openSettings(api: Api, organization: string, email: string, now: () => number = Date.now) {
  /** Of a form that is sent. */
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
  const post = async (path: string, fields: Fields | string, more: Record<string, string> = {}) => {
    const response = await api.send(`${base}${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: typeof fields === 'string' ? fields : formBody(fields),
    });
    return {
      status: response.status,
      text: await response.text(),
      location: response.headers.get('Location'),
      headers: response.headers,
    };
  };
  return { base, headers, get, post };
}

/** A settings area with one administrator signed in, and the API of the same deployment. */
export async function makeSettings(
  options: { timeZone?: string; now?: () => number; psa?: boolean; bindings?: Partial<Env> } = {},
) {
  const organization = await makeOrganization(options);
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada <b>Lovelace</b>', admin: true });
  const { now, bindings } = options;
  const api = makeApi({ ...(now && { now }), ...(bindings && { bindings }), config: { signIn: signIn.config } });
  return { organization, api, ...(await openSettings(api, organization, email, now)) };
}

/** The key value that a page or an output shows. */
export const keyIn = (text: string) => /twb_[0-9A-Za-z]{46}/.exec(text)?.[0] ?? 'no key shown';
