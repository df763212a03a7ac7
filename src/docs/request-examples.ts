/** The variable that holds the key: in a command it would stay in the history of the shell. */
export const VARIABLE = 'TICKETS_API_KEY';

/** A request, for an example in any language. */
export interface RequestExample {
  method: string;
  url: string;
  needsKey: boolean;
  /** Without that of the key. */
  headers: readonly (readonly [name: string, value: string])[];
  body: unknown;
}

/** A request in each language. Each program runs as it is, with the key in the environment. */
export const LANGUAGES: readonly { id: string; label: string; write: (request: RequestExample) => string }[] = [
  { id: 'bash', label: 'bash', write: bash },
  { id: 'powershell', label: 'PowerShell', write: powerShell },
  { id: 'typescript', label: 'TypeScript', write: typeScript },
  { id: 'python', label: 'Python', write: python },
];

const json = (body: unknown) => JSON.stringify(body, null, 2);

/** Longer bodies take several lines. */
const MAX_LINE_LENGTH = 80;
function shortJson(body: unknown): string {
  const line = json(body).replaceAll(/\n */g, ' ');
  return line.length <= MAX_LINE_LENGTH ? line : json(body);
}

export function bash({ url, needsKey, headers, body }: RequestExample): string {
  const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return [
    `curl ${quote(url)}`,
    ...(needsKey ? [`-H "Authorization: Bearer $${VARIABLE}"`] : []),
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quote(shortJson(body))}`]),
  ].join(' \\\n  ');
}

export function powerShell({ method, url, needsKey, headers, body }: RequestExample): string {
  const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const entries = [
    ...(needsKey ? [`Authorization = "Bearer $env:${VARIABLE}"`] : []),
    // Windows PowerShell refuses the Content-Type among the headers.
    ...headers.filter(([name]) => name !== 'Content-Type').map(([name, value]) => `${quote(name)} = ${quote(value)}`),
  ];
  const call = [
    `Invoke-RestMethod ${quote(url)}`,
    ...(method === 'GET' ? [] : [`-Method ${method}`]),
    ...(entries.length === 0 ? [] : ['-Headers $headers']),
    // As bytes: Windows PowerShell does not send a text as UTF-8.
    ...(body === undefined ? [] : ["-ContentType 'application/json'", '-Body ([Text.Encoding]::UTF8.GetBytes($body))']),
  ].join(' `\n  ');
  return [
    ...(entries.length === 0 ? [] : [`$headers = @{\n${entries.map((entry) => `  ${entry}`).join('\n')}\n}`]),
    ...(body === undefined ? [] : [`$body = ${quote(shortJson(body))}`]),
    call,
  ].join('\n');
}

function typeScript({ method, url, needsKey, headers, body }: RequestExample): string {
  const entries = [
    ...(needsKey ? [`Authorization: \`Bearer \${process.env['${VARIABLE}']}\`,`] : []),
    ...headers.map(([name, value]) => `'${name}': ${JSON.stringify(value)},`),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    ...(entries.length === 0 ? [] : [`headers: {\n    ${entries.join('\n    ')}\n  },`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${indented(json(body))}),`]),
  ];
  const argument = options.length === 0 ? '' : `, {\n  ${options.join('\n  ')}\n}`;
  return `const response = await fetch('${url}'${argument});\nconsole.log(response.status, await response.json());`;
}

function python({ method, url, needsKey, headers, body }: RequestExample): string {
  const entries = [
    ...(needsKey ? [`"Authorization": "Bearer " + os.environ["${VARIABLE}"],`] : []),
    ...headers.map(([name, value]) => `"${name}": ${JSON.stringify(value)},`),
  ];
  const options = [
    `"${url}",`,
    ...(method === 'GET' ? [] : [`method="${method}",`]),
    ...(entries.length === 0 ? [] : [`headers={\n        ${entries.join('\n        ')}\n    },`]),
    ...(body === undefined ? [] : [`data=json.dumps(${indented(pythonLiteral(body), 4)}).encode(),`]),
  ];
  return `import json
import os
from urllib.request import Request, urlopen

request = Request(
    ${options.join('\n    ')}
)
with urlopen(request) as response:
    print(response.status, json.load(response))`;
}

/** JSON is Python, except for these words as values; in a text they are kept. */
const pythonLiteral = (body: unknown) =>
  json(body).replaceAll(/"(?:[^"\\]|\\.)*"|true|false|null/g, (token) => PYTHON_WORDS[token] ?? token);
const PYTHON_WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

/** The lines after the first one, further to the right. */
const indented = (text: string, spaces = 2) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
