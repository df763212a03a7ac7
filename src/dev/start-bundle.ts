import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Evaluates the top level of a bundle: a complete and small one may still throw there, in every isolate. */
export async function startBundle(path: string, vars: Record<string, unknown>): Promise<void> {
  const platform = `export const env = ${JSON.stringify(vars)};
    export class DurableObject {}
    export class WorkerEntrypoint {}
    export function waitUntil() {}`;
  const hooks = registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === 'cloudflare:workers'
        ? { url: `data:text/javascript,${encodeURIComponent(platform)}`, shortCircuit: true }
        : nextResolve(specifier, context),
  });
  try {
    await import(pathToFileURL(path).href);
  } finally {
    hooks.deregister();
  }
}
