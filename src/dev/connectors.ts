// npm run connectors: writes the files of src/connectors that are generated from the OpenAPI document.
import { writeFile } from 'node:fs/promises';
import { connectorFiles, readContract } from './connector-files.ts';

for (const [path, content] of await connectorFiles(await readContract())) await writeFile(path, content);
