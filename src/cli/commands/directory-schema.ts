// npm run directory:schema: prints the JSON Schema of a line of a directory file.
import { directoryJsonSchema } from '../../domain/directory.ts';

console.log(JSON.stringify(directoryJsonSchema(), null, 2));
