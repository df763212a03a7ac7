import type { DocsModule } from '../../docs/module.ts';
import archive from './docs/archive.md?raw';

export const archiveDocs: DocsModule = { sections: { archive } };
