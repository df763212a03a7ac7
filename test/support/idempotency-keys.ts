/** Idempotency-Keys without an event id, which each workflow sends for all of its events. */
export const WITHOUT_EVENT_ID: readonly string[] = [
  // Nothing after the workflow, or an absent value.
  ...[
    'triage:',
    'triage/',
    'a:b:',
    'https://psa.example/',
    ':',
    '/',
    'triage: ',
    '\ttriage:',
    'triage:"',
    'triage:""',
    'triage:"null"',
  ],
  ...['triage:undefined', 'triage/null', 'a:NaN', 'a:b/None', 'undefined', 'null', 'triage:UNDEFINED', 'a:nan', 'NONE'],
  ...['triage:[object', 'a:[object Object]', '[object Object]', 'a/[Object%20object]', 'triage-undefined'],
  // The same before a suffix.
  ...[
    'triage::2',
    'triage::10',
    ':2',
    'triage/:2',
    'decade::2',
    'triage:fe80::2',
    'triage:undefined:2',
    'triage:null:2',
  ],
  ...['triage:None:2', 'null:1', 'triage:undefined-note', 'triage:null_time', 'undefined-1', 'a:undefined-note:2'],
  ...['triage:undefined:note', 'triage:[object Object]:2', 'triage-undefined:2'],
  // Placeholders of Handlebars, Mustache, Jinja and n8n.
  ...['triage:{{eventId}}', 'triage:{{ $json.id }}', 'a:{{1.id', '{{x}}:1', 'a}}b', 'triage:{% id %}', 'triage:[[id]]'],
  // Of shells, JavaScript, PowerShell, PHP, JSONPath and Azure DevOps.
  ...[
    'triage:$EVENT_ID',
    '$EVENT_ID',
    'triage:$EVENT_ID:2',
    'triage:$eventId-note',
    'triage-$id',
    'triage:"$EVENT_ID"',
  ],
  ...[
    'triage:$1',
    'triage:$1:2',
    `\${id}`,
    `a:\${id:-1}`,
    'triage:$(EVENT_ID)',
    'triage:$(Build.BuildId)',
    '$$.event.id',
  ],
  ...['triage:$json.id', 'triage:$.event.id', "triage:$event['id']"],
  ...['triage:$env:EVENT_ID', 'triage:$Env:ALERT_UID', '$ENV:ID:2', 'triage:"$env:EVENT_ID"'],
  // Of Python, C#, Rust and OpenAPI; of C and Go; of cmd; of Ruby; of Logstash and Power Automate; of XML and pages.
  ...[
    'triage:{event_id}',
    'triage:{}',
    'triage:{0}',
    '{id}',
    "triage:{event['id']}",
    'https://psa.example/{ticket-id}',
  ],
  ...['triage:{_}', 'triage:{alert}', 'triage:{feed-id}', 'triage:{a1.id}', 'triage:{12}'],
  ...['triage:%s', 'triage:%d', 'triage-%s', 'triage:%s:2', 'triage:%1', 'triage:%EVENT_ID%', 'triage:%DEVICE_ID%:2'],
  ...['triage:#{event.id}', 'triage:%{id}', "triage:@{triggerBody()?['id']}", "triage:triggerBody()?['id']"],
  ...['triage:<event-id>', '<workflow>:<event id>', 'triage:<%= id %>', '<EVENT_ID>'],
];

/** Idempotency-Keys of tools, which look a little like those. */
export const WITH_EVENT_ID: readonly string[] = [
  ...['triage:evt-20418', 'triage:evt-20418:2', 'triage/20418', '0', 'a', '-', '.', 'triage:0', 'triage::20418'],
  // Hexadecimal ids and GUIDs in braces, Message-IDs, ULIDs, base64, hashes, numbers and time stamps.
  ...['{e1b2c3d4e5f6}', 'triage:{ABCDEFABCDEF}', 'triage:{a0b1c2d3}:2', '{123456789012}'],
  '{8f1c2d3e-4a5b-4c6d-8e7f-0a1b2c3d4e5f}',
  'triage:{ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB}:2',
  '<CAF-abc_def@mail.example>',
  'triage:<20261121093000.4711.qmail@psa.example>',
  ...['<000001d8$4f2a$b3c0@PC>', '01JD8Z6T4M3V9K2X7Q5R8W1Y0N', 'c2hvcnQ=', 'triage:+/8=', 'Zm9v//Zm9vYg'],
  ...['sha256-9f86d081884c7d659a2feaa0c55ad015', '$2b$10$N9qo8uLOickgx2ZMRZoMye', '-7', '1e21', '-1.5e-7'],
  ...['2026-11-21T09:30:00.000Z', 'triage:2026-11-21T09:30:00', '2026-11-21T09:30:00+01:00', '20261121T093000Z'],
  // URLs, percent-encoded text, ARNs, URNs and IPv6 addresses.
  'https://psa.example/a%20b/events/7?x=%7B%22id%22%3A7%7D',
  ...[
    '%D0abc%B0',
    'a%20b%20c',
    '%D0%B0%D0%B1',
    'x%2Fdeadbeef%2F1',
    '%7B%7B7%7D%7D',
    'triage:%7Bid%7D',
    'triage:%24ID',
    '100%',
    '50%25',
  ],
  'https://graph.example/v1.0/messages?$filter=a&$top=5',
  ...['arn:aws:sqs:eu-central-1:123456789012:queue', 'arn:aws:iam::123456789012', 'arn:aws:s3:::bucket/key'],
  'arn:aws:lambda:eu-central-1:123456789012:function:check:$LATEST:4711',
  '2026/11/21/[$LATEST]0123456789abcdef',
  ...['urn:uuid:8f1c2d3e-4a5b-4c6d-8e7f-0a1b2c3d4e5f', 'tag:psa.example,2026:7'],
  ...['::1', 'fe80::1', '2001:db8::2', '2001:db8:0:0:0:0::99', '[2001:db8::1]:443', 'fe80::1%eth0', '::ffff:192.0.2.7'],
  // Events of Matrix, Java classes, and words that contain the other ones.
  'triage:$acR1l0raoZnm60CBwAVgqbZqoOmYU81xysh1u7XcJk',
  '$Rqnc-F-dvnEYJTyHq_iKxU2bZ1CI92-kuZq3a5lr5Zg:2',
  ...['com.example.Check$Disk', 'a:nullable', 'a:non', 'cannull', 'a:nanoid', 'x-none', 'undefined/x', 'null-check:42'],
  ...['triage:null-pointer-4711', 'a:None:evt-2', '{', '}', '$', '[1]', '[obj', 'a<b', '<1>', 'tenant{', '{"id":7}'],
];
