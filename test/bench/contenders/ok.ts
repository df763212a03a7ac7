/** The runtime by itself. */
export default { fetch: () => new Response('ok') };
