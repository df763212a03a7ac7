import type { Contract, Schema } from './contract.ts';

/**
 * The OpenAPI 2.0 document of the Power Automate connector, with the vendor's extensions: titles and visibility of
 * operations, parameters and fields. A converter for any document would add neither.
 * @throws Error if an operation or a field has no description, which the vendor's validator requires
 */
export function swaggerOf({ servers: [basePath], paths, components }: Contract): object {
  const writable = Object.fromEntries(Object.entries(components.schemas).filter(([name]) => !name.endsWith('Problem')));
  return {
    swagger: '2.0',
    info: {
      title: 'Ticket Write-Back',
      description: 'Writes internal notes and time entries to tickets, each event once.',
      version: '1.0',
      contact: { name: 'Ticket Write-Back', url: 'https://tickets.example/docs' },
    },
    host: 'tickets.example',
    basePath,
    schemes: ['https'],
    consumes: ['application/json'],
    produces: ['application/json'],
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, operations]) => [path, mapValues(operations, operationOf)]),
    ),
    definitions: mapValues(writable, (schema, name) => ({ ...schemaOf(schema, name), title: titleOf(name) })),
    securityDefinitions: { api_key: { type: 'apiKey', in: 'header', name: 'Authorization' } },
    security: [{ api_key: [] }],
    'x-ms-connector-metadata': [
      { propertyName: 'Website', propertyValue: 'https://tickets.example/docs' },
      { propertyName: 'Privacy policy', propertyValue: 'https://tickets.example/docs' },
      { propertyName: 'Categories', propertyValue: 'IT Operations' },
    ],
  };
}

type Operation = Contract['paths'][string][string];

function operationOf(operation: Operation): object {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json'].schema.$ref;
  return {
    operationId: operationId.charAt(0).toUpperCase() + operationId.slice(1),
    summary,
    description,
    'x-ms-visibility': body === undefined || operationId.startsWith('dryRun') ? 'advanced' : 'important',
    ...(parameters.length > 0 && {
      parameters: [
        ...parameters.map(parameterOf),
        ...(body === undefined ? [] : [{ name: 'body', in: 'body', required: true, schema: definition(body) }]),
      ],
    }),
    responses: Object.fromEntries(
      Object.entries(responses).flatMap(([status, { description = '', content }]) => {
        const result = content?.['application/json']?.schema.$ref;
        return result === undefined ? [] : [[status, { description, schema: definition(result) }]];
      }),
    ),
  };
}

const definition = (reference: string) => ({ $ref: reference.replace('#/components/schemas/', '#/definitions/') });

/** The Idempotency-Key is required here: a flow may be run again after a failure. The designer hides `Prefer`. */
function parameterOf({ in: place, name, description }: NonNullable<Operation['parameters']>[number]): object {
  const isHidden = name === 'Prefer';
  return {
    name,
    in: place,
    required: true,
    type: 'string',
    'x-ms-summary': name === 'Idempotency-Key' ? 'Event ID' : titleOf(name),
    description,
    'x-ms-visibility': isHidden ? 'internal' : 'important',
    ...(isHidden && { default: 'handling=strict' }),
    ...(place === 'path' && { 'x-ms-url-encoding': 'single' }),
  };
}

/** A schema without what OpenAPI 2.0 lacks. The service checks the patterns, which the designer does not know. */
function schemaOf(
  { type = 'object', description, properties, required, items, ...rules }: Schema,
  name: string,
): object {
  const { format, enum: values, minimum, maximum, minLength, maxLength } = rules;
  return {
    type,
    ...(description !== undefined && { description }),
    ...Object.fromEntries(
      Object.entries({ format, enum: values, minimum, maximum, minLength, maxLength, required }).filter(
        ([, value]) => value !== undefined,
      ),
    ),
    ...(items && { items: schemaOf(items, name) }),
    ...(properties && {
      properties: mapValues(properties, (property, key) => ({
        ...schemaOf(property, key),
        description: property.description ?? `${titleOf(key)}.`,
        'x-ms-summary': titleOf(key),
        'x-ms-visibility': required?.includes(key) ? 'important' : 'advanced',
      })),
    }),
  };
}

/** `ticketId` as "Ticket ID". */
function titleOf(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2');
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(/\bId\b/, 'ID');
}

const mapValues = <Value, Result>(object: Record<string, Value>, map: (value: Value, key: string) => Result) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
