import { env } from 'cloudflare:workers';
import type { SQLWrapper } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import * as auditLog from '../../src/db/audit/audit-log-statements.ts';
import { AUDIT_ROWS } from '../../src/db/audit/audit-row.ts';
import * as administrator from '../../src/db/directory/administrator-statements.ts';
import * as clock from '../../src/db/directory/clock.ts';
import * as company from '../../src/db/directory/company-statements.ts';
import * as erasure from '../../src/db/directory/erasure.ts';
import * as directory from '../../src/db/directory/records.ts';
import { FACT_SOURCES } from '../../src/db/fact-statements.ts';
import * as endRefusedUses from '../../src/db/keys/end-refused-uses.ts';
import * as findKey from '../../src/db/keys/find-key-statements.ts';
import * as keyRules from '../../src/db/keys/key-rules-statements.ts';
import * as key from '../../src/db/keys/key-statements.ts';
import * as readKeys from '../../src/db/keys/read-keys-statements.ts';
import * as refusedRequest from '../../src/db/keys/refused-request-statements.ts';
import * as refusedUse from '../../src/db/keys/refused-use-statements.ts';
import { BoundStatement, type Statement } from '../../src/db/query.ts';
import { erasures } from '../../src/db/schema/directory.ts';
import * as changes from '../../src/db/work/changes.ts';
import * as connection from '../../src/db/work/connections.ts';
import * as deletion from '../../src/db/work/deletion-statements.ts';
import * as keyDays from '../../src/db/work/key-days.ts';
import * as note from '../../src/db/work/note-statements.ts';
import * as record from '../../src/db/work/record-statements.ts';
import * as sortedTime from '../../src/db/work/sorted-time-statements.ts';
import * as timeEntry from '../../src/db/work/time-entry-statements.ts';
import * as timeQueue from '../../src/db/work/time-queue-statements.ts';
import * as local from '../../src/dev/local-statements.ts';
import { DAY_MS } from '../../src/domain/calendar.ts';
import { DIRECTORY_TYPES } from '../../src/domain/directory.ts';
import { RECORD_KIND_NAMES } from '../../src/domain/record-kinds.ts';
import * as alert from '../../src/modules/alerts/alert-statements.ts';
import * as push from '../../src/modules/push/push-statements.ts';
import { makeKey, makeOrganization, makeWorld } from '../support/world.ts';

// Every statement with values, of an organization that exists.

const db = drizzle(env.DB);
const { organization: organizationId, keyId } = await makeWorld();
const now = Date.now();
const withOldLog = await makeOrganization();
for (const _ of [1, 2]) await makeKey(withOldLog, {}, () => now - 400 * DAY_MS);
const day = '2026-11-01';
const id = 'no-record';
const requestId = 'the-request';
const byAda = { organizationId, userId: 'ada' };
const range = { organizationId, before: 100, from: 1, examine: 10, limit: 10 };
const ofKey = { organizationId, keyId };
const NONE_EARLIER = { from: '', to: '' };
const settings = {
  name: 'Another key',
  description: '',
  owner: '',
  dayLimitRecords: null,
  dayLimitMinutes: null,
  allowedNetworks: '',
  companies: '',
};
const newKey = { ...byAda, id: 'new-key', hash: '0'.repeat(64), hint: 'twb_0000…0000', now, expiresAt: null };
const newKeyValues = { ...newKey, ...settings, formToken: 'form', scopes: 'tickets:note:write', lifetimeDays: null };
const explained = { ...ofKey, keyHash: '0'.repeat(64), id, ticketId: '1001', chainId: keyId, day };
const written = {
  ...explained,
  now,
  requestId,
  requestDigest: '0'.repeat(64),
  timeZone: 'UTC',
  allowedNetworks: '',
  expiresAt: null,
  dayLimitRecords: null,
  minutes: 0,
  bytes: 4,
  keyDayRecords: null,
  keyDayBytes: null,
  organizationDayRecords: null,
  organizationDayBytes: null,
};
const writtenTime = { ...written, minutes: 5, description: 'Text', billable: 1 as const };
const auditRow = {
  organizationId,
  now,
  actorId: keyId,
  actorName: '',
  action: 'note.created',
  targetId: id,
  ticketId: null,
  requestId,
  idempotencyKey: null,
  sourceAddress: null,
  userAgent: null,
  detail: null,
  day,
  records: 1,
  bytes: 4,
};
const counted = { ...ofKey, chainId: keyId, day, now, minutes: 0, bytes: 4, sourceAddress: null };
const theErasure = { organizationId, requestId };
const records = RECORD_KIND_NAMES.map((kind) => ({ organizationId, kind, id }));
const filter = { status: 'SUBMITTED', company: 'acme', technician: 'tess', key: keyId, from: day, to: day } as const;
const sent = { organizationId, json: '[]' };
const ofEachType = (statement: (type: (typeof DIRECTORY_TYPES)[number]) => directory.DirectoryStatement) =>
  DIRECTORY_TYPES.map((type) => statement(type)(db, sent));
const foundAlert = { organizationId, type: 'push_failing', subject: '', level: 1, id: 'alert_1', text: 'Text' };
const dueAlert = { ...foundAlert, toReceiver: 0, toChat: 0 };

const factValues = {
  now,
  limit: 10,
  isPushed: 1,
  firstDay: day,
  keptSince: 0,
  keyRecords: 1,
  keyBytes: 1,
  organizationRecords: 1,
  organizationBytes: 1,
  databaseBytes: 1,
  databaseLimit: 1,
};

/** A template that `db.all` runs. */
const ofTemplate = (query: SQLWrapper & { getQuery: Statement['toSQL'] }) => new BoundStatement(query.getQuery());

/**
 * The statements of each export, by the path of its file in src. An export that is not a statement, but a part of several,
 * is in `PARTS`.
 */
export const EXAMPLES: Readonly<
  Record<string, Readonly<Record<string, Statement<unknown> | readonly Statement<unknown>[]>>>
> = {
  'db/audit/audit-row.ts': {
    AUDIT_ROWS: Object.values(AUDIT_ROWS).flatMap(({ given, ofRecord, ofEach }) => [
      ...[given, ...Object.values(ofRecord)].map((statement) => statement(db, auditRow)),
      ...Object.values(ofEach).map((statement) => statement(db, { ...auditRow, targetId: JSON.stringify([id]) })),
    ]),
  },
  'db/audit/audit-log-statements.ts': {
    findAuditPage: [
      auditLog.findAuditPage(db, range),
      auditLog.findAuditPage(db, { ...range, ...ofKey, actions: ['note.created'], ticketIds: ['1001'], requestId }),
      auditLog.findAuditPage(db, { ...range, administratorId: 'ada', since: 0, until: now, minutes: 5 }),
    ],
    findExamined: [auditLog.findExamined(db, range), auditLog.findExamined(db, { ...range, ...ofKey })],
    countMatching: auditLog.countMatching(db, range),
    countWritesOfKey: auditLog.countWritesOfKey(db, { ...range, ...ofKey, since: 0 }),
    findKeyWorkflows: auditLog.findKeyWorkflows(db, { organizationId, keyId: 'k', since: 0, limit: 10 }),
    findLatestDay: auditLog.findLatestDay(db, organizationId),
    findAuditAdministrators: auditLog.findAuditAdministrators(db, organizationId, 10),
    findFirstSeqSince: ofTemplate(auditLog.findFirstSeqSince(db, organizationId, 0)),
    findAuditRowsAbout: auditLog.findAuditRowsAbout(db, { organizationId, id, note: id, time_entry: id }),
    findTicket: auditLog.findTicket(db, organizationId, '1001'),
  },
  'db/fact-statements.ts': {
    FACT_SOURCES: FACT_SOURCES.flatMap(({ ofAll, ofPage }) => [
      ofAll(db, factValues, 10),
      ...(ofPage ? [ofPage(db, factValues, [organizationId])] : []),
    ]),
  },
  'dev/local-statements.ts': {
    findLocalAdministrators: local.findLocalAdministrators(db, [organizationId]),
    findKeysNamed: local.findKeysNamed(db, organizationId, 'A key'),
    forgetConnections: local.forgetConnections(db),
  },
  'db/directory/administrator-statements.ts': {
    findAdministered: administrator.findAdministered(db, {
      email: 'ada@northwind.example',
      organizationId,
      limit: 10,
      now,
    }),
    findTimeZone: administrator.findTimeZone(db, byAda),
    findAdministrators: administrator.findAdministrators(db, organizationId),
    findAdministratorNames: administrator.findAdministratorNames(db, organizationId),
  },
  'db/directory/clock.ts': {
    applyMessage: clock.applyMessage(db, organizationId, { at: now, id: 'message' }),
    findClock: clock.findClock(db, organizationId),
    applyUnsigned: clock.applyUnsigned(db, organizationId),
    applyErasure: clock.applyErasure(db, erasures.organizationId.getSQL()),
  },
  'db/directory/company-statements.ts': {
    findCompanies: company.findCompanies(db, organizationId, ['acme']),
    findFirstCompanies: company.findFirstCompanies(db, organizationId, 10),
  },
  'db/directory/erasure.ts': {
    // Nothing is erased, because the log does not end there.
    openErasure: erasure.openErasure(db, { ...theErasure, by: 'operator', seq: 99, cursorRequestId: null }),
    recordReturn: erasure.recordReturn(db, organizationId, 'operator'),
    deactivateErased: erasure.deactivateErased(db, organizationId),
    findOpenErasure: erasure.findOpenErasure(db, organizationId),
    findReturned: erasure.findReturned(db),
    removeRows: erasure.ERASED_TABLES.map((table) => erasure.removeRows(db, table, theErasure, 10)),
    closeErasure: erasure.closeErasure(db, theErasure),
  },
  'db/directory/records.ts': {
    upsertRecords: ofEachType(directory.upsertRecords),
    findDifferingRecords: ofEachType(directory.findDifferingRecords),
    vacateEmails: directory.vacateEmails(db, sent),
    retireServiceAccount: directory.retireServiceAccount(db, sent),
    deactivateAgreements: directory.deactivateAgreements(db, sent),
    ensureServiceAccount: directory.ensureServiceAccount(db, organizationId),
    findAnyOrganization: directory.findAnyOrganization(db),
    findOrganizations: directory.findOrganizations(db, sent),
    findErasures: directory.findErasures(db, sent),
    findKnownCompanies: directory.findKnownCompanies(db, sent),
    findHeldEmails: directory.findHeldEmails(db, sent),
    findHeldCompanies: directory.findHeldCompanies(db, sent),
    deactivateRecords: ofEachType(directory.deactivateRecords),
    findRecords: ofEachType(directory.findRecords),
    listRecords: DIRECTORY_TYPES.map((type) =>
      directory.listRecords(db, type, { organizationId, after: '', limit: 10 }),
    ),
  },
  'db/keys/find-key-statements.ts': { findKeyByHash: findKey.findKeyByHash(db, { hash: '0'.repeat(64) }) },
  'db/keys/key-rules-statements.ts': {
    findKeyRules: keyRules.findKeyRules(db, byAda),
    changeRules: keyRules.changeRules(db, {
      ...{ ...byAda, maxLifetimeDays: null, expiryRequired: 0, longMinutes: 240, oldRevision: 0 },
    }),
  },
  'db/keys/key-statements.ts': {
    insertKey: key.insertKey(db, newKeyValues),
    insertReplacement: key.insertReplacement(db, {
      ...newKeyValues,
      id: 'replacement',
      hash: '1'.repeat(64),
      name: 'Replacement',
      formToken: null,
    }),
    markReplaced: key.markReplaced(db, { ...newKeyValues, keyId, endsAt: now, revision: 0 }),
    changeKey: key.changeKey(db, { ...byAda, ...settings, keyId, now, revision: 0 }),
    markSucceeded: key.markSucceeded(db, {
      ...byAda,
      keyId: id,
      id: 'successor',
      now,
      endsAt: now,
      formToken: null,
      lifetimeDays: null,
    }),
    insertSuccessor: key.insertSuccessor(db, { ...newKey, id: 'successor', formToken: null }),
    revokeSucceeded: key.revokeSucceeded(db, { ...byAda, id: 'successor', now }),
    explainKey: key.explainKey(db, { ...byAda, keyId, name: 'Another key', formToken: null, now }),
    markRevokedByAdministrator: key.markRevokedByAdministrator(db, { ...byAda, keyIds: [id], now }),
    markRevokedByOperator: key.markRevokedByOperator(db, { organizationId, keyId: id, now, by: 'operator' }),
    findRevocation: key.findRevocation(db, ofKey),
    findLiveKeyIds: key.findLiveKeyIds(db, organizationId, now),
  },
  'db/keys/read-keys-statements.ts': {
    findKeyDetails: readKeys.findKeyDetails(db, organizationId, keyId),
    findLiveKeys: readKeys.findLiveKeys(db, organizationId, now),
    findKeys: readKeys.findKeys(db, organizationId, [keyId]),
    countLiveKeysOf: readKeys.countLiveKeysOf(db, [organizationId], now),
    findKeyPage: readKeys.findKeyPage(db, organizationId, '~', 10),
    findOwnKeys: readKeys.findOwnKeys(db, organizationId, { hint: 'twb_0000…0000', hash: null }),
    findUnknownKeys: readKeys.findUnknownKeys(db, [keyId]),
    findAnyKeys: readKeys.findAnyKeys(db, { hint: 'twb_0000…0000', hash: '0'.repeat(64) }),
  },
  'db/keys/end-refused-uses.ts': {
    endRepairedUses: endRefusedUses.endRepairedUses(db, { ...ofKey, uses: '[]', now }),
    endLostWrites: endRefusedUses.endLostWrites(db, { ...byAda, keyId, count: 1, lastAt: now, now }),
    findEnderOfLostWrites: endRefusedUses.findEnderOfLostWrites(db, { organizationId, keyId, count: 1, lastAt: now }),
  },
  'db/keys/refused-request-statements.ts': {
    addRefusedRequest: refusedRequest.addRefusedRequest(db, {
      ...ofKey,
      requestId,
      at: now,
      status: 422,
      reason: 'validation_failed',
      pointers: '["/minutes"]',
      ticketId: '1001',
      userEmail: null,
      dayLimit: null,
      sourceAddress: null,
      userAgent: null,
    }),
    keepLatestRefusedRequests: refusedRequest.keepLatestRefusedRequests(db, { ...ofKey, keep: 10 }),
    findManyRefusedRequests: refusedRequest.findManyRefusedRequests(db, 10),
    findRefusedRequests: [
      refusedRequest.findRefusedRequests(db, { ...ofKey, requestId, before: '~', limit: 10 }),
      refusedRequest.findRefusedRequests(db, { organizationId, status: 401, limit: 10 }),
      refusedRequest.findRefusedRequests(db, { organizationId, byReason: true, before: '~', limit: 10 }),
    ],
    forgetRefusedRequests: refusedRequest.forgetRefusedRequests(db, { before: 0, limit: 10 }),
  },
  'db/keys/refused-use-statements.ts': {
    addRefusedUses: refusedUse.addRefusedUses(db, {
      ...ofKey,
      reason: 'scope_missing',
      count: 1,
      now,
      sourceAddress: null,
      lostWrites: null,
      endsAt: null,
      limitId: '',
      dayLimit: null,
    }),
    findUsesOfKey: refusedUse.findUsesOfKey(db, organizationId, keyId, now),
    findRefusedUses: refusedUse.findRefusedUses(db, organizationId, 10, now),
    findRefusedUsesPage: refusedUse.findRefusedUsesPage(db, organizationId, {
      beforeKeyId: '~',
      beforeReason: '~',
      beforeLimitId: '',
      limit: 10,
      now,
    }),
    forgetAddresses: refusedUse.forgetAddresses(db, { before: 0, limit: 10 }),
  },
  'db/work/changes.ts': {
    findCursorPosition: changes.findCursorPosition(db, organizationId, 1),
    findChanges: changes.findChanges(db, organizationId, 0, 10),
  },
  'db/work/connections.ts': {
    saveConnection: [true, false].map((takesOver) =>
      connection.saveConnection(db, {
        organizationId,
        adapterId: 'adapter',
        failure: 'refused',
        isStopped: true,
        takesOver,
        psaName: null,
        now,
      }),
    ),
    findConnections: connection.findConnections(db, { from: organizationId, to: organizationId }),
    forgetConnection: connection.forgetConnection(db, organizationId),
  },
  'db/work/deletion-statements.ts': {
    findDeletable: deletion.findDeletable(db, now, now),
    findFirstUndecided: deletion.findFirstUndecided(db, organizationId, 0, 10),
    findFirstRedactedLater: deletion.findFirstRedactedLater(db, organizationId, 0, 10),
    moveDeletion: deletion.moveDeletion(db, withOldLog, 1),
    deleteOldest: deletion.deleteOldest(db, organizationId, 10),
    deleteDays: deletion.deleteDays(db, '2000-01-01', 10),
  },
  'db/work/key-days.ts': {
    findChainDay: keyDays.findChainDay(db, organizationId, keyId, day),
    findKeyDays: keyDays.findKeyDays(db, organizationId, [keyId], day),
    findChainUse: keyDays.findChainUse(db, organizationId, keyId, day),
    countRecord: Object.values(keyDays.countRecord).map((statement) => statement(db, counted)),
    findStoredText: keyDays.findStoredText(db, day),
  },
  'db/work/note-statements.ts': {
    insertNote: note.insertNote(db, { ...written, message: 'Text' }),
    explainNote: note.explainNote(db, explained),
  },
  'db/work/record-statements.ts': {
    markRedacted: records.map((one) => record.markRedacted(db, one)),
    findRecord: records.map((one) => record.findRecord(db, one)),
    recordApprovals: [byAda.userId, undefined].map((userId) =>
      record.recordApprovals(db, { organizationId, userId, ids: [id], status: 'APPROVED', approvals: 'psa' }),
    ),
    handToSettings: record.handToSettings(db, organizationId, id),
    findWaitingForPsa: record.findWaitingForPsa(db, organizationId, 10),
    findApproval: record.findApproval(db, organizationId, id),
    storePsaRefusal: records.map((one) => record.storePsaRefusal(db, one, 'closed', now)),
    withdrawRefusal: records.map((one) => record.withdrawRefusal(db, one)),
    withdrawRefusalByHand: record.withdrawRefusalByHand(db, { ...byAda, id, isRedacted: false }),
    findTaken: record.findTaken(db, organizationId, id),
    countRefusals: record.countRefusals(db, NONE_EARLIER),
  },
  'db/work/time-entry-statements.ts': {
    insertServiceTimeEntry: timeEntry.insertServiceTimeEntry(db, writtenTime),
    insertTechnicianTimeEntry: timeEntry.insertTechnicianTimeEntry(db, {
      ...writtenTime,
      userEmail: 'tess@northwind.example',
    }),
    explainServiceTimeEntry: timeEntry.explainServiceTimeEntry(db, explained),
    explainTechnicianTimeEntry: timeEntry.explainTechnicianTimeEntry(db, {
      ...explained,
      userEmail: 'tess@northwind.example',
    }),
  },
  'db/work/sorted-time-statements.ts': {
    sortWaiting: [true, false].map((one) =>
      ofTemplate(
        sortedTime.sortWaiting(db, organizationId, filter, { readsOnlyMatching: one, isUnmarkedOnly: one, limit: 10 }),
      ),
    ),
  },
  'db/work/time-queue-statements.ts': {
    findEntries: [filter, {}, { isRefused: true } as const].map((one) =>
      timeQueue.findEntries(db, organizationId, one, { limit: 10, characters: 10 }),
    ),
    findEntriesById: timeQueue.findEntriesById(db, organizationId, [id], 10),
    sumEntries: ofTemplate(timeQueue.sumEntries(db, organizationId, filter)),
    findTechnicians: timeQueue.findTechnicians(db, organizationId, 10),
    findLastDecision: timeQueue.findLastDecision(db, organizationId),
    findAnyEntry: timeQueue.findAnyEntry(db, organizationId),
    countWaiting: timeQueue.countWaiting(db, organizationId),
    countRefusedEntries: timeQueue.countRefusedEntries(db, organizationId),
    findApprover: timeQueue.findApprover(db, organizationId),
  },
  'modules/alerts/alert-statements.ts': {
    findStoredAlerts: alert.findStoredAlerts(db, { types: '["push_failing"]', each: 1, limit: 1 }),
    saveAlerts: alert.saveAlerts(db, [foundAlert], { toReceiver: 0, toChat: 0 }, now),
    claimAlerts: alert.claimAlerts(db, { now, givenUpUntil: now, claimedUntil: now, each: 1, limit: 1 }),
    recordAttempt: alert.recordAttempt(db, dueAlert),
    withdrawAlerts: alert.withdrawAlerts(db, [foundAlert]),
  },
  'modules/push/push-statements.ts': {
    savePush: push.savePush(db, {
      organizationId,
      confirmedSeq: 1,
      failingSince: null,
      attempts: 0,
      failure: null,
      nextAttemptAt: null,
      stoppedAt: null,
    }),
    findDuePushes: push.findDuePushes(db, { now, erasedSince: 0, limit: 10 }),
    findPushStatus: push.findPushStatus(db),
    touchPush: push.touchPush(db, organizationId, requestId),
  },
};

/** Exported functions that are parts of statements, by the path of their file in src. */
export const PARTS: Readonly<Record<string, readonly string[]>> = {
  'db/audit/audit-log-statements.ts': ['nextSeq', 'oldestSeq', 'userActors'],
  'db/fact-statements.ts': ['fact', 'factSource', 'isActiveIn', 'organizationRange'],
  'db/directory/administrator-statements.ts': ['byActiveAdministrator', 'isActiveAdministrator'],
  'db/keys/refused-use-statements.ts': ['needsAttention'],
  'db/directory/erasure.ts': ['isBeingErased', 'tableName'],
  'db/keys/key-rules-statements.ts': ['admittedByRules', 'expiryRules', 'longMinutesOf'],
  'db/keys/read-keys-statements.ts': ['liveKeyIds'],
  'db/work/key-days.ts': ['lastDay', 'sum'],
  'db/work/time-queue-statements.ts': ['matches', 'ofQueue', 'totalsOf', 'waitingCount', 'waitingSince'],
  'db/work/write.ts': ['latestAuditRow', 'admitted', 'recordValues', 'returned', 'explain'],
};
