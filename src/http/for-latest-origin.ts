/**
 * Remembers what was made for the latest origin: a deployment has one or few. It is made on request,
 * not at startup, so that writes do not wait for it.
 */
export function forLatestOrigin<Made>(make: (origin: string) => Made): (origin: string) => Made {
  let latest: { origin: string; made: Made } | undefined;
  return (origin) => {
    if (latest?.origin !== origin) latest = { origin, made: make(origin) };
    return latest.made;
  };
}
