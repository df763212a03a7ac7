// Runs after every npm install: puts the reference page's library beside the other static files, from the package it comes in.
import { cp, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const from = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));
const to = join(import.meta.dirname, '../assets/docs/swagger-ui');

await rm(to, { recursive: true, force: true });
await mkdir(to);
for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE'])
  await cp(join(from, file), join(to, file));
