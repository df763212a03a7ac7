import type { Config } from '../config.ts';
import { KEY_LENGTH } from '../domain/api-key.ts';
import { type Limits, limitsInWords } from '../domain/limits.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../domain/record-kinds.ts';
import { openapi } from './openapi.ts';
import { pingOperation, WRITE_OPERATIONS } from './operations.ts';

const writes = Object.fromEntries(
  RECORD_KIND_NAMES.map((kind) => [`/tickets/{ticketId}/${RECORD_KINDS[kind].path}`, { post: WRITE_OPERATIONS[kind] }]),
);

/**
 * The contract of a deployment as an OpenAPI 3.1 document, from the same schemas that validate
 * requests and type responses. `origin` is the deployment's. If it is empty, the addresses are
 * relative to the document's (OpenAPI 3.1.0 §4.8.5).
 */
export function describeApi({ keyPrefix, ...limits }: Pick<Config, 'keyPrefix'> & Limits, origin: string) {
  return openapi({
    info: {
      title: 'Ticket Write-Back API',
      contact: { name: 'Reference, errors and recipes', ...(origin !== '' && { url: `${origin}/docs` }) },
      description: [
        'Automations write the result of their work back to the ticketing system: internal notes and time entries, and nothing else.',
        'A POST with an Idempotency-Key is always safe to retry.',
        `Limits: ${limitsInWords(limits)}`,
        'Responses may gain fields: ignore unknown fields. [Errors](/docs/errors) explains every error, [recipes](/docs/recipes) the setup of each tool.',
      ].join('\n\n'),
    },
    servers: [{ url: `${origin}/api/v1` }],
    security: [{ key: [] }],
    tags: [
      { name: 'Check', description: 'Check that the automation is set up correctly.' },
      { name: 'Write', description: 'Write the result of work to a ticket.' },
    ],
    paths: {
      '/ping': { get: pingOperation },
      ...writes,
    },
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: `${keyPrefix}_ followed by ${KEY_LENGTH} letters and digits`,
          description:
            'An API key that an administrator created in the settings area. Send `Authorization: Bearer <key>`.',
        },
      },
    },
  });
}
