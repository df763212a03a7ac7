import { secureHeaders } from 'hono/secure-headers';

type Options = NonNullable<Parameters<typeof secureHeaders>[0]>;

/** Sends the security headers of a page, with its Content-Security-Policy. */
export function securePages(
  contentSecurityPolicy: Options['contentSecurityPolicy'],
  referrerPolicy: 'no-referrer' | 'same-origin',
) {
  return secureHeaders({
    contentSecurityPolicy: contentSecurityPolicy ?? {},
    referrerPolicy,
    // `requestContext` sets it for all responses.
    strictTransportSecurity: false,
    xFrameOptions: 'DENY',
  });
}
