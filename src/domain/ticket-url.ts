import { isSecureUrl } from '../lib/loopback.ts';

/** Stand for the ids in an address. */
const TICKET = '{ticket}';
const ORGANIZATION = '{organization}';

/**
 * Parses the address of a ticket in the PSA, such as `https://psa.example/{organization}/t/{ticket}`; undefined if the
 * text is empty.
 */
export function parseTicketUrl(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const example = ticketUrl(text, 'organization', 'ticket');
  const url = URL.canParse(example) ? new URL(example) : undefined;
  const isSafe = url !== undefined && isSecureUrl(url);
  if (!isSafe || !text.includes(TICKET) || url.host !== new URL(ticketUrl(text, 'o', 't')).host)
    throw new RangeError(
      `"${text}" is not an https:// address with ${TICKET} behind its host, such as https://psa.example/tickets/${TICKET}; ${ORGANIZATION} may be in it too`,
    );
  return text.trim();
}

export function ticketUrl(template: string, organizationId: string, ticketId: string): string {
  return template
    .trim()
    .replaceAll(ORGANIZATION, () => encodeURIComponent(organizationId))
    .replaceAll(TICKET, () => encodeURIComponent(ticketId));
}
