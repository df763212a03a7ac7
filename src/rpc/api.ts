/**
 * The request as its caller sent it. The address comes from the Worker that received it, because the platform may rewrite
 * headers between two Workers.
 */
export function fromCaller(request: Request, address: string | null): Request {
  const headers = new Headers(request.headers);
  headers.delete('CF-Connecting-IP');
  if (address !== null) headers.set('CF-Connecting-IP', address);
  return new Request(request, { headers });
}
