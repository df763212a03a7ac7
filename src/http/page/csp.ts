/**
 * The Content-Security-Policy of the settings area: resources of this origin only, and no inline script
 * or style. Static pages have the same in src/assets/_headers, without forms.
 */
export const FORM_CSP = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
};
