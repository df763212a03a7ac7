declare global {
  /** Vitest's own. */
  var __vitest_mocker__: { moduleRunner: { import: (id: string) => Promise<unknown> } };
}

const { moduleRunner } = globalThis.__vitest_mocker__;
const importModule = moduleRunner.import.bind(moduleRunner);
let main: Promise<unknown> | undefined;

/**
 * From now on the Worker's main module is imported at its first use only. Otherwise it is imported for each call of a
 * Durable Object or of a service, and each import asks Vite, in another process, where the module is.
 */
export function importMainOnce(): void {
  main = undefined;
  moduleRunner.import = (id) => {
    if (!id.endsWith('/src/index.ts')) return importModule(id);
    main ??= importModule(id);
    return main;
  };
}
