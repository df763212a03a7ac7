/** The variable that holds the key: in a command it would stay in the history of the shell. */
export const VARIABLE = 'TICKETS_API_KEY';

/**
 * A request, for an example in any language. The URL and the headers may contain `{ticketId}` and `{eventId}`: each
 * program sets them as variables first.
 */
export interface RequestExample {
  method: string;
  url: string;
  needsKey: boolean;
  /** Without the header of the key. */
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

const ONCE = 'a new id for each event, the same one for a retry';
const PLACEHOLDER = /\{(ticketId|eventId)\}/g;

/** The lines that set the variables of a request, each at its placeholder. */
function settings({ url, headers }: RequestExample, lines: { ticketId: string; eventId: string }): string[] {
  const text = [url, ...headers.map(([, value]) => value)].join();
  return [
    ...(text.includes('{ticketId}') ? [lines.ticketId] : []),
    ...(text.includes('{eventId}') ? [lines.eventId] : []),
  ];
}

/** Quotes a text, in another way if it contains variables. */
function quoted(
  text: string,
  plain: (text: string) => string,
  open: string,
  close: string,
  variable: (name: string) => string,
) {
  const withVariables = text.replaceAll(PLACEHOLDER, (_, name: string) => variable(name));
  return withVariables === text ? plain(text) : `${open}${withVariables}${close}`;
}

const json = (body: unknown) => JSON.stringify(body, null, 2);

/** Longer bodies take several lines. */
const MAX_LINE_LENGTH = 80;
function shortJson(body: unknown): string {
  const line = json(body).replaceAll(/\n */g, ' ');
  return line.length <= MAX_LINE_LENGTH ? line : json(body);
}

const SHELL_NAMES: Readonly<Record<string, string>> = { ticketId: 'TICKET_ID', eventId: 'EVENT_ID' };

export function bash(request: RequestExample): string {
  const { url, needsKey, headers, body } = request;
  const plain = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const quote = (text: string) => quoted(text, plain, '"', '"', (name) => `$${SHELL_NAMES[name]}`);
  const call = [
    `curl ${quote(url)}`,
    ...(needsKey ? [`-H "Authorization: Bearer $${VARIABLE}"`] : []),
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${plain(shortJson(body))}`]),
  ].join(' \\\n  ');
  const lines = settings(request, {
    ticketId: "TICKET_ID='1001'",
    eventId: `EVENT_ID="evt-$(date +%s)-$RANDOM" # ${ONCE}`,
  });
  return [...lines, call].join('\n');
}

export function powerShell(request: RequestExample): string {
  const { method, url, needsKey, headers, body } = request;
  const plain = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const quote = (text: string) => quoted(text, plain, '"', '"', (name) => `$${name}`);
  const entries = [
    ...(needsKey ? [`Authorization = "Bearer $env:${VARIABLE}"`] : []),
    // Windows PowerShell refuses the Content-Type among the headers.
    ...headers.filter(([name]) => name !== 'Content-Type').map(([name, value]) => `${plain(name)} = ${quote(value)}`),
  ];
  const call = [
    `Invoke-RestMethod ${quote(url)}`,
    ...(method === 'GET' ? [] : [`-Method ${method}`]),
    ...(entries.length === 0 ? [] : ['-Headers $headers']),
    // As bytes: Windows PowerShell does not send a text as UTF-8.
    ...(body === undefined ? [] : ["-ContentType 'application/json'", '-Body ([Text.Encoding]::UTF8.GetBytes($body))']),
  ].join(' `\n  ');
  return [
    ...settings(request, {
      ticketId: "$ticketId = '1001'",
      eventId: `$eventId = 'evt-' + [guid]::NewGuid() # ${ONCE}`,
    }),
    ...(entries.length === 0 ? [] : [`$headers = @{\n${entries.map((entry) => `  ${entry}`).join('\n')}\n}`]),
    ...(body === undefined ? [] : [`$body = ${plain(shortJson(body))}`]),
    call,
  ].join('\n');
}

function typeScript(request: RequestExample): string {
  const { method, url, needsKey, headers, body } = request;
  const quote = (text: string) =>
    quoted(
      text,
      (one) => `'${one}'`,
      '`',
      '`',
      (name) => `\${${name}}`,
    );
  const entries = [
    ...(needsKey ? [`Authorization: \`Bearer \${process.env['${VARIABLE}']}\`,`] : []),
    ...headers.map(([name, value]) => `'${name}': ${quote(value)},`),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    ...(entries.length === 0 ? [] : [`headers: {\n    ${entries.join('\n    ')}\n  },`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${indented(json(body))}),`]),
  ];
  const argument = options.length === 0 ? '' : `, {\n  ${options.join('\n  ')}\n}`;
  return [
    ...settings(request, {
      ticketId: "const ticketId = '1001';",
      eventId: `const eventId = \`evt-\${crypto.randomUUID()}\`; // ${ONCE}`,
    }),
    `const response = await fetch(${quote(url)}${argument});\nconsole.log(response.status, await response.json());`,
  ].join('\n');
}

function python(request: RequestExample): string {
  const { method, url, needsKey, headers, body } = request;
  const quote = (text: string) =>
    quoted(
      text,
      (one) => JSON.stringify(one),
      'f"',
      '"',
      (name) => `{${SHELL_NAMES[name]?.toLowerCase()}}`,
    );
  const entries = [
    ...(needsKey ? [`"Authorization": "Bearer " + os.environ["${VARIABLE}"],`] : []),
    ...headers.map(([name, value]) => `"${name}": ${quote(value)},`),
  ];
  const options = [
    `${quote(url)},`,
    ...(method === 'GET' ? [] : [`method="${method}",`]),
    ...(entries.length === 0 ? [] : [`headers={\n        ${entries.join('\n        ')}\n    },`]),
    ...(body === undefined ? [] : [`data=json.dumps(${indented(pythonLiteral(body), 4)}).encode(),`]),
  ];
  const lines = settings(request, {
    ticketId: 'ticket_id = "1001"',
    eventId: `event_id = f"evt-{uuid.uuid4()}"  # ${ONCE}`,
  });
  return `import json
import os
${lines.length > 1 ? 'import uuid\n' : ''}from urllib.request import Request, urlopen

${lines.map((line) => `${line}\n`).join('')}request = Request(
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
