import { secureHeaders } from 'hono/secure-headers';

/**
 * Sends the security headers of the settings area: resources of this origin only, and no inline script or style. Static
 * pages have the same in src/assets/_headers, without forms.
 */
export const securePages = () =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
    referrerPolicy: 'same-origin',
    // `requestContext` sets it for all responses.
    strictTransportSecurity: false,
    xFrameOptions: 'DENY',
  });
