import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from './record-kinds.ts';

/** Who acts: a key, an administrator (user), or the PSA's software and operators (system). */
export const ACTOR_TYPES = ['api_key', 'user', 'system'] as const;
export type ActorType = (typeof ACTOR_TYPES)[number];

const KEY_ACTIONS = {
  created: 'Key created',
  changed: 'Key changed',
  rotated: 'Key rotated',
  revoked: 'Key revoked',
} as const;

const PUSH_ACTIONS = {
  resumed: 'Push resumed',
  skipped: 'Changes not pushed',
} as const;

type RecordAction = {
  [Kind in RecordKind]: `${Kind}.${keyof (typeof RECORD_KINDS)[Kind]['auditActions'] & string}`;
}[RecordKind];

/** Every action that this service writes to the audit log, as `<subject>.<what happened>`. */
export type AuditAction = RecordAction | `api_key.${keyof typeof KEY_ACTIONS}` | `push.${keyof typeof PUSH_ACTIONS}`;

const labels: Readonly<Record<string, string>> = Object.fromEntries([
  ...RECORD_KIND_NAMES.flatMap((kind) => labelled(kind, RECORD_KINDS[kind].auditActions)),
  ...labelled('api_key', KEY_ACTIONS),
  ...labelled('push', PUSH_ACTIONS),
]);

function labelled(subject: RecordKind | 'api_key' | 'push', actions: Readonly<Record<string, string>>) {
  return Object.entries(actions).map(([action, label]) => [`${subject}.${action}`, label] as const);
}

/** The actions with their labels, for a select list. */
export const AUDIT_ACTION_LABELS: readonly (readonly [action: string, label: string])[] = Object.entries(labels);

/** The label of an action. Actions that other systems add are shown as stored. */
export function auditActionLabel(action: string): string {
  return labels[action] ?? action;
}
