/** Whether the hostname of a URL is this machine: `localhost`, a name below it, 127.0.0.0/8 or `[::1]`. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Whether the response of the URL is protected from changes on the way: `https:`, or `http:` on this machine. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** @throws RangeError naming the rule, never the text: it may have a password or a token */
export function parseSecureUrl(text: string, whyNoPassword: string): URL {
  const url = URL.parse(text);
  if (url && (url.username !== '' || url.password !== ''))
    throw new RangeError(`its value has a user name or password; remove it, because ${whyNoPassword}`);
  if (url && isSecureUrl(url)) return url;
  throw new RangeError('its value is not an https:// address; plain http:// is accepted for this machine only');
}
