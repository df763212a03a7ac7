import { build } from 'esbuild';

/** Bundles a Worker of the tests. */
export async function bundleWorker(entryPoint: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}
