import { reader } from '../../config.ts';

export interface McpOptions {
  /** The values of `Origin` that it accepts. Programs send none; browsers send that of their page. */
  origins: readonly string[];
}

/** Scheme, host and port in lower case, without a path (RFC 6454 §6.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/,A-Z]+$/;

/** @throws Error naming the variable and the rule. The Worker must not start. */
export function parseMcpOptions(vars: Readonly<Record<string, unknown>>): McpOptions {
  return { origins: reader(vars)('MCP_ORIGINS', parseOrigins) };
}

/** @throws RangeError naming the text and the rule */
export function parseOrigins(text: string): string[] {
  const values = text.split(/[\s,]+/).filter((value) => value !== '');
  const wrong = values.find((value) => !ORIGIN.test(value));
  if (wrong !== undefined)
    throw new RangeError(`"${wrong}" is not an origin; write scheme and host, such as https://inspector.example`);
  return values;
}
