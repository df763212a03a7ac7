import { instant } from '../domain/change.ts';
import { FACT_TYPES, FACTS } from '../domain/facts.ts';
import { TOLERANCE_SECONDS } from '../domain/webhook.ts';
import { Code } from '../http/page/code.tsx';
import { alertData, messageType } from '../modules/alerts/alert.ts';
import { PSA_CALL_TYPES, PSA_CALLS, type PsaCallType } from '../modules/psa/psa-calls.ts';
import { PSA_ERRORS } from '../modules/psa/psa-errors.ts';
import { Page, Table } from './layout.tsx';
import type { MessageShapes } from './reference/contract.ts';
import { Fields } from './reference/fields.tsx';
import { fieldsOf } from './reference/rules.ts';
import { Text } from './text.tsx';

const MINUTES = TOLERANCE_SECONDS / 60;

const HEADERS = [
  [
    '`webhook-id`',
    'Identifies the message, so make a new one for each: 1 to 255 visible ASCII characters without a full stop.',
  ],
  ['`webhook-timestamp`', `The current time in Unix seconds, at most ${MINUTES} minutes from the other clock.`],
  [
    '`webhook-signature`',
    '`v1,` and the base64 of the HMAC-SHA256 of `<id>.<timestamp>.<body>`. The key is the secret after `whsec_`, decoded from base64. Several signatures are separated by spaces.',
  ],
] as const;

/** Signs and sends a message with nothing but a shell, curl and openssl. */
export const signingExample = (origin: string) => `body='${JSON.stringify({
  type: 'work.changes',
  data: { organization: 'northwind', cursor: null },
})}'
id="msg_$(openssl rand -hex 8)" at="$(date +%s)"
key="$(printf %s "\${PSA_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')"
signature="$(printf %s "$id.$at.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)"
curl -i ${origin}/psa -H 'Content-Type: application/json' -d "$body" \\
  -H "webhook-id: $id" -H "webhook-timestamp: $at" -H "webhook-signature: v1,$signature"`;

const ERROR_ROWS = Object.entries(PSA_ERRORS)
  .filter(([code]) => code !== 'not_exported')
  .map(([code, { status, meaning }]) => [`\`${code}\``, String(status), meaning] as const);

const RECEIVER_RULES = [
  [
    'Answer 2xx only when the changes are stored',
    'Until then the same page comes again, with the same `webhook-id`. Later pages of this organization wait; other organizations do not.',
  ],
  [
    'Put `note.id` or `timeEntry.id` on what you write, and look for it first',
    'A change may be sent twice, for example if your answer was lost. The id of a record is the same for the same Idempotency-Key, even after a restore of the database. A write without an Idempotency-Key is a new record each time. Use `organization` and `seq` only for a copy of the feed: after a restore, numbers are used again.',
  ],
  [
    'Verify, store, answer, and only then write into your system',
    'A queue of your own lets you answer within 15 seconds however long a call to your system takes. After that, and after any other status, the same page is sent again. The first pause is 5 seconds, the longest an hour; `Retry-After` is obeyed.',
  ],
  [
    'Process one message at a time',
    'A page may be sent again while you still work on it. Two processes that look for a record at the same time both find nothing, and write it twice.',
  ],
  [
    'Keep what your system refuses, and answer 2xx',
    'The ticket may have been deleted, or the technician locked, after the automation wrote. Until you answer 2xx, all later changes wait.',
  ],
  [
    'Answer 2xx to a `type` that you do not know',
    'There are also alerts (below), there may be more types, and the operator can send one named `test`.',
  ],
  ['410 stops the organization', 'Until the operator resumes it. Nothing is lost: it continues where it stopped.'],
] as const;

const ALERT_ROWS = FACT_TYPES.map((type) => [`\`${messageType(type)}\``, FACTS[type].meaning] as const);

const ALERT_RULES = [
  [
    'Answer 2xx to alerts that you do not use',
    'A receiver that only stores changes works as before. Alerts neither delay the changes nor wait for them.',
  ],
  [
    'Recognize an alert by its `webhook-id`',
    'It may come twice, with the same id. Alerts about a failing push, refused requests and the database come within five minutes; the others once a day.',
  ],
  [
    'Expect one alert for each fact',
    'It is sent again, under a new `webhook-id` and with a higher `level`, only if the fact becomes more urgent, or ends and begins again.',
  ],
  [
    'Any status other than 2xx and 410',
    'The alert is sent again: after five minutes at first, after an hour at most, until the fact is gone. 410 drops this one alert.',
  ],
] as const;

const ALERT_EXAMPLE = {
  type: messageType('key_expiring'),
  timestamp: instant(Date.parse('2026-11-22T03:17:00Z')),
  data: {
    ...alertData({
      type: 'key_expiring',
      organizationId: 'northwind',
      subject: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073',
      keyId: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073',
      keyName: 'n8n: triage',
      keyHint: 'twb_Ab12…x9Yz',
      keyExpiresAt: Date.parse('2026-12-06T05:00:00Z'),
      since: Date.parse('2026-11-22T05:00:00Z'),
      level: 1,
      count: 0,
      lastAt: null,
      detail: null,
    }),
    settingsUrl: null,
  },
};

const RECEIVERS = [
  ['receiver.py', 'Python'],
  ['receiver.php', 'PHP'],
  ['receiver.mjs', 'Node'],
  ['Receiver.cs', 'C#, without the part that writes into your system'],
] as const;

const json = (value: unknown) => JSON.stringify(value, null, 2);

interface Props {
  origin: string;
  /** The shapes of the messages by their type. */
  messages: ReadonlyMap<string, MessageShapes>;
}

/** The interface for the PSA: signing, calls, errors, and the push. */
export function Psa({ origin, messages }: Props) {
  const parts = [
    { href: '#sign', text: 'Sign a message' },
    { href: '#calls', text: 'Calls' },
    ...PSA_CALL_TYPES.map((type) => ({ href: `#${type}`, text: type })),
    { href: '#archive', text: 'Release and archive' },
    { href: '#errors', text: 'Errors' },
    { href: '#push', text: 'Receive changes' },
    { href: '#alerts', text: 'Receive alerts' },
  ];
  return (
    <Page title="For the PSA" path="/docs/psa" parts={parts} isWide>
      <p>
        The ticketing system itself (the PSA) keeps its directory here up to date, takes back what automations wrote,
        and reviews it. Its messages are signed as in <a href="https://www.standardwebhooks.com">Standard Webhooks</a>{' '}
        1.0 with a secret that the operator sets. No API key is accepted here, and the API does not accept the secret.
      </p>
      <p>
        The same reference is available as an <a href="/psa/openapi.json">OpenAPI 3.1 document</a>. If{' '}
        <code>{`${origin}/psa`}</code> responds with 404, the interface is off: the operator turns it on with the secret{' '}
        <code>PSA_SECRET</code>.
      </p>
      <h2 id="sign">Sign a message</h2>
      <p>
        Post <code>{'{"type": …, "data": …}'}</code> as JSON of at most 1 MiB to <code>{`${origin}/psa`}</code>, with
        these headers:
      </p>
      <Table head={['Header', 'Value']} rows={HEADERS} />
      <Code label="Sign and send a message">{signingExample(origin)}</Code>
      <p>
        There are libraries for many languages. A wrong or missing signature gets a 401 that does not say why; the log
        of the service does.
      </p>
      <h2 id="calls">Calls</h2>
      <p>
        A call that succeeds answers 200 with <code>{'{"ok": true, "value": …}'}</code>. Every call is safe to repeat.
        Send the messages about one organization one after the other: a directory message that is older than the last
        one applied is refused, so that a captured one cannot be sent again.
      </p>
      {PSA_CALL_TYPES.map((type) => (
        <Call type={type} shapes={messages.get(type)} />
      ))}
      <h2 id="archive">Release and archive</h2>
      <p>
        The operator may archive old changes. Only what the PSA has released is archived: <code>work.release</code>{' '}
        confirms that it has stored everything up to a cursor. Until the PSA releases changes, nothing is archived.
      </p>
      <p>
        A page of <code>work.changes</code> has either <code>changes</code> or <code>archives</code>. If the next change
        is archived, <code>archives</code> names the objects in order, starting with the one that contains it, with
        their SHA-256 as <code>digest</code>. A cursor within an archive returns the whole archive. Continue with{' '}
        <code>cursor</code>: the other changes follow after the last archive. An object is a gzip file with a change as
        JSON in each line; ask the operator for it. Archives are never pushed.
      </p>
      <h2 id="errors">Errors</h2>
      <p>
        A call that did nothing answers <code>{'{"ok": false, "error": {"code", "detail", "errors"}}'}</code>:
      </p>
      <Table head={['Code', 'Status', 'What it means']} rows={ERROR_ROWS} />
      <p>
        A message that is refused before its call, for instance because it is not JSON, gets one of the{' '}
        <a href="/docs/problems">problems</a> of the API.
      </p>
      <h2 id="push">Receive changes</h2>
      <p>
        Instead of asking for changes, the PSA can have them pushed: the operator sets <code>WEBHOOK_URL</code> and{' '}
        <code>WEBHOOK_SECRET</code>, and each organization's changes are posted there in order, at most 100 changes and
        512 KiB at a time, signed in the same way. The body is <code>work.changes</code> again:{' '}
        <code>{'{"type": "work.changes", "timestamp": …, "data": {"organization", "changes", "cursor"}}'}</code>.
      </p>
      <Table head={['Rule', 'Why']} rows={RECEIVER_RULES} />
      <p>
        Small receivers to begin with. Each verifies the signature, stores the changes in a queue of files, and answers.
        Then it writes the queue into your system, one change after the other:
      </p>
      <ul>
        {RECEIVERS.map(([file, language]) => (
          <li>
            <a href={`/docs/psa/${file}`} download={file}>
              {language}
            </a>{' '}
            (<code>{file}</code>)
          </li>
        ))}
      </ul>
      <h2 id="alerts">Receive alerts</h2>
      <p>
        The same address also gets alerts for the people who look after the keys. <code>data</code> never has the text
        of a note or time entry. <code>organization</code> is null if an alert is about the whole deployment, and{' '}
        <code>settingsUrl</code> is the page to look at, if the operator has set the address of the service.
      </p>
      <Table head={['Type of alert', 'When']} rows={ALERT_ROWS} />
      <Code label="An alert">{json(ALERT_EXAMPLE)}</Code>
      <Table head={['Rule for alerts', 'Why']} rows={ALERT_RULES} />
      <p>
        The fields of each type are in the <a href="/psa/openapi.json">OpenAPI document</a>, under <code>webhooks</code>
        .
      </p>
    </Page>
  );
}

/** One call: its fields, and an example beside them. */
function Call({ type, shapes }: { type: PsaCallType; shapes: MessageShapes | undefined }) {
  const { summary, example } = PSA_CALLS[type];
  return (
    <section class="operation" aria-labelledby={type}>
      <div>
        <h3 id={type}>
          <a href={`#${type}`}>
            <code>{type}</code>
          </a>
        </h3>
        <p>
          <Text>{summary}</Text>
        </p>
        {shapes && (
          <>
            <h4>
              <code>data</code>
            </h4>
            <Fields fields={fieldsOf(shapes.data)} />
            <details>
              <summary>
                Fields of <code>value</code>
              </summary>
              <Fields fields={fieldsOf(shapes.value)} isResponse />
            </details>
          </>
        )}
      </div>
      <div class="examples">
        <div>
          <Code label={`Message ${type}`} title="Message">
            {json({ type, data: example.data })}
          </Code>
          <Code label={`Value of ${type}`} title="Value">
            {json(example.value)}
          </Code>
        </div>
      </div>
    </section>
  );
}
