import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from './record-kinds.ts';

/** Who acts: a key, an administrator (user), or the PSA's software and operators (system). */
export const ACTOR_TYPES = ['api_key', 'user', 'system'] as const;
export type ActorType = (typeof ACTOR_TYPES)[number];

/** The most characters of a written text in an audit log's file. */
export const AUDIT_TEXT_LENGTH = 4_000;

/** What administrators and operators do, by subject. */
const OTHER_ACTIONS = {
  api_key: {
    created: 'Key created',
    changed: 'Key changed',
    rotated: 'Key rotated',
    revoked: 'Key revoked',
    lost_writes_entered: 'Lost writes entered',
  },
  key_rules: { changed: 'Key rules changed' },
  push: { resumed: 'Push resumed' },
} as const;
type OtherActions = typeof OTHER_ACTIONS;

type RecordAction = {
  [Kind in RecordKind]: `${Kind}.${keyof (typeof RECORD_KINDS)[Kind]['auditActions'] & string}`;
}[RecordKind];

/** Every action that this service writes to the audit log, as `<subject>.<what happened>`. */
export type AuditAction =
  | RecordAction
  | { [Subject in keyof OtherActions]: `${Subject}.${keyof OtherActions[Subject] & string}` }[keyof OtherActions];

function labelled(subject: string, actions: Readonly<Record<string, string>>) {
  return Object.entries(actions).map(([action, label]) => [`${subject}.${action}`, label] as const);
}

const ofRecords = RECORD_KIND_NAMES.flatMap((kind) => labelled(kind, RECORD_KINDS[kind].auditActions));
const DECISIONS = /\.(?:approved|rejected)$/;

/** The actions with their labels in groups, for a select list. */
export const AUDIT_ACTION_GROUPS: readonly { name: string; actions: readonly (readonly [string, string])[] }[] = [
  { name: 'Writes', actions: ofRecords.filter(([action]) => !DECISIONS.test(action)) },
  { name: 'Decisions', actions: ofRecords.filter(([action]) => DECISIONS.test(action)) },
  { name: 'Keys', actions: labelled('api_key', OTHER_ACTIONS.api_key) },
  {
    name: 'Key rules and push',
    actions: (['key_rules', 'push'] as const).flatMap((subject) => labelled(subject, OTHER_ACTIONS[subject])),
  },
];

/** The actions of the group with this name, or the one action that it is. */
export const actionsNamed = (name: string): readonly string[] =>
  AUDIT_ACTION_GROUPS.find((group) => group.name === name)?.actions.map(([action]) => action) ?? [name];

const labels = new Map(AUDIT_ACTION_GROUPS.flatMap(({ actions }) => actions));

/** The label of an action. Actions that other systems add are shown as stored. */
export function auditActionLabel(action: string): string {
  return labels.get(action) ?? action;
}
