import { UsageError } from './command.ts';

/** The address of a deployment: scheme and host. @throws UsageError */
export function parseServiceAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/') return url;
  throw new UsageError('The address begins with https:// and ends with the host, such as https://tickets.example.');
}
