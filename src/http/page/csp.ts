/** What every page may load: resources of this origin only, and no inline script or style. */
const SOURCES = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  connectSrc: ["'self'"],
};
const NO_FRAMING = { baseUri: ["'none'"], frameAncestors: ["'none'"] };

/** The Content-Security-Policy of pages without forms. */
export const READ_ONLY_CSP = { ...SOURCES, formAction: ["'none'"], ...NO_FRAMING };

/** The Content-Security-Policy of pages with forms. */
export const FORM_CSP = { ...SOURCES, formAction: ["'self'"], ...NO_FRAMING };
