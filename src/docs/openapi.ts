import * as z from 'zod';
import { createDocument, type ZodOpenApiObject } from 'zod-openapi';
import { UNAUTHORIZED_PROBLEM } from '../http/problems.ts';
import reference from './pages/reference.md?raw';

/** The version of both contracts and of the package. */
export const CONTRACT_VERSION = '1.0.0';
/** The request id in all examples. */
export const REQUEST_ID = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';

/** An OpenAPI 3.1 document. Responses may gain fields, so it does not rule out additional ones. */
export function openapi({
  info,
  ...document
}: Omit<ZodOpenApiObject, 'openapi' | 'info'> & { info: Omit<ZodOpenApiObject['info'], 'version'> }) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        version: CONTRACT_VERSION,
        license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
        ...info,
      },
      ...document,
    },
    {
      override: ({ jsonSchema, io }) => {
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
}

/** The texts about the headers of the API, by name or id: the table of the reference. */
const HEADER_TEXTS = new Map(
  Array.from(
    reference.matchAll(/^\| `?([\w-]+)`? \| (.+) \| `(.+)` \|$/gm),
    ([, name = '', description = '', example]) => [name, { description, example }] as const,
  ),
);

/** Describes a header as a component of the document. @throws Error if the reference has no row about it */
export function apiHeader<Shape extends z.ZodType>(name: string, shape: Shape, id = name.replaceAll('-', '')): Shape {
  const text = HEADER_TEXTS.get(name);
  if (!text) throw new Error(`There is no row about the header ${name}`);
  return shape.meta({ ...text, header: { id } });
}

/** `malformed_json` as `MalformedJson`. */
export const pascalCase = (name: string) =>
  name.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());

export const seconds = z.string().regex(/^[1-9]\d*$/);

export const unauthorizedProblem = z.object({
  type: z.literal(UNAUTHORIZED_PROBLEM.type),
  title: z.literal(UNAUTHORIZED_PROBLEM.title),
  status: z.literal(UNAUTHORIZED_PROBLEM.status),
});
