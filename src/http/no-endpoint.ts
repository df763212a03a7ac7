import type { ProblemArguments } from './problems.ts';

/** The 404 for a path without an endpoint. */
export function endpointNotFound(): ProblemArguments {
  return ['not_found', 'There is no API endpoint at this path; check the path.'];
}

/** The 405 for a path whose endpoint supports only other methods. */
export function methodNotAllowedProblem(method: string, supported: readonly string[]): ProblemArguments {
  const allow = supported.join(', ');
  return [
    'method_not_allowed',
    `${method} is not supported at this path; use ${allow}.`,
    { headers: { Allow: allow } },
  ];
}
