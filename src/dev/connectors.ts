// npm run connectors: writes the files of src/connectors that are generated from the OpenAPI document.
import { writeFile } from 'node:fs/promises';
import { connectorFiles } from './connector-files.ts';
import { readContract } from './contract.ts';

for (const [path, content] of await connectorFiles(await readContract())) await writeFile(path, content);
