// Written by returned-columns.test.ts: what each statement returned from a filled database.
import type { ReturnedColumns } from './column-types.ts';

export const RETURNED_COLUMNS = {
  'db/audit/audit-log-statements.ts': {
    countMatching: { count: 'number' },
    countWritesOfKey: { writes: 'number', addresses: 'number', examined: 'number' },
    findAuditAdministrators: { id: 'string', name: 'string', isPresent: 'number' },
    findAuditPage: {
      examined: { examined: 'number', lowest: 'number', matching: 'null', lowestAt: 'number' },
      rows: { seq: 'number', at: 'number', actorType: 'string', actorId: 'string', actorName: 'string', action: 'string', targetId: 'string', ticketId: 'string | null', requestId: 'string', idempotencyKey: 'string | null', detail: 'string | null', sourceAddress: 'string | null', userAgent: 'string | null', keyId: 'string | null', keyName: 'string | null', keyHint: 'string | null', keyRevokedAt: 'number | null', minutes: 'number | null', technician: 'string | null', billable: 'number | null', hourlyRateMinor: 'number | null', status: 'string | null', decidedBy: 'string | null', decidedAt: 'number | null', refusal: 'string | null', text: 'string | null', textLength: 'number | null' },
    },
    findAuditPageOfAdministrator: {
      examined: { examined: 'number', lowest: 'number', lowestAt: 'number', matching: 'number' },
      rows: { seq: 'number', at: 'number', actorType: 'string', actorId: 'string', actorName: 'string', action: 'string', targetId: 'string', ticketId: 'string | null', requestId: 'string', idempotencyKey: 'null', detail: 'string | null', sourceAddress: 'string | null', userAgent: 'string', keyId: 'string | null', keyName: 'string | null', keyHint: 'string | null', keyRevokedAt: 'number | null', minutes: 'number | null', technician: 'string | null', billable: 'number | null', hourlyRateMinor: 'number | null', status: 'string | null', decidedBy: 'string | null', decidedAt: 'number | null', refusal: 'null', text: 'string | null', textLength: 'number | null' },
    },
    findAuditPageOfKey: {
      examined: { examined: 'number', lowest: 'number', lowestAt: 'number', matching: 'number' },
      rows: { seq: 'number', at: 'number', actorType: 'string', actorId: 'string', actorName: 'string', action: 'string', targetId: 'string', ticketId: 'string | null', requestId: 'string', idempotencyKey: 'string | null', detail: 'string | null', sourceAddress: 'string', userAgent: 'string | null', keyId: 'string', keyName: 'string', keyHint: 'string', keyRevokedAt: 'null', minutes: 'number | null', technician: 'string | null', billable: 'number | null', hourlyRateMinor: 'number | null', status: 'string | null', decidedBy: 'string | null', decidedAt: 'number | null', refusal: 'string | null', text: 'string | null', textLength: 'number | null' },
    },
    findAuditRowsAbout: { seq: 'number', at: 'number', actorType: 'string', actorId: 'string', actorName: 'string', action: 'string', targetId: 'string', ticketId: 'string', requestId: 'string', idempotencyKey: 'string | null', detail: 'null', sourceAddress: 'string', userAgent: 'null', keyId: 'string', keyName: 'string', keyHint: 'string', keyRevokedAt: 'null', minutes: 'number | null', technician: 'string | null', billable: 'number | null', hourlyRateMinor: 'number | null', status: 'string | null', decidedBy: 'string | null', decidedAt: 'number | null', refusal: 'null', text: 'string', textLength: 'number' },
    findFirstSeqSince: { seq: 'number' },
    findLatestDay: { day: 'string', records: 'number', bytes: 'number' },
    findTicket: { id: 'string' },
  } satisfies ReturnedColumns<typeof import('../../src/db/audit/audit-log-statements.ts')>,
  'db/directory/administrator-statements.ts': {
    findAdministrator: { userId: 'string', userName: 'string', organizationId: 'string', organizationName: 'string', timeZone: 'string', hasPsa: 'number', refused: 'number' },
    findAdministratorNames: { name: 'string' },
    findTimeZone: { timeZone: 'string' },
  } satisfies ReturnedColumns<typeof import('../../src/db/directory/administrator-statements.ts')>,
  'db/directory/clock.ts': {
    findClock: { at: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/directory/clock.ts')>,
  'db/directory/company-statements.ts': {
    findCompanies: { id: 'string', name: 'string', active: 'number' },
    findFirstCompanies: { id: 'string', name: 'string', active: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/directory/company-statements.ts')>,
  'db/directory/erasure.ts': {
    findOpenErasure: { organizationId: 'string', requestId: 'string', erasedAt: 'number', erasedBy: 'string', lastSeq: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/directory/erasure.ts')>,
  'db/directory/records.ts': {
    DEACTIVATE_RECORDS: {
      agreement: { id: 'string' },
      company: { id: 'string' },
      organization: { id: 'string' },
      ticket: { id: 'string' },
      user: { id: 'string' },
    },
    FIND_COMPANIES: { id: 'string', found: 'null' },
    FIND_DIFFERING_RECORDS: {
      agreement: { id: 'string', found: 'string | null' },
      company: { id: 'string', found: 'string | null' },
      organization: { id: 'string', found: 'string | null' },
      ticket: { id: 'string', found: 'string | null' },
      user: { id: 'string', found: 'string | null' },
    },
    FIND_ERASURES: { id: 'string', found: 'string' },
    FIND_HELD_COMPANIES: { id: 'string', found: 'string' },
    FIND_HELD_EMAILS: { id: 'string', found: 'string' },
    FIND_ORGANIZATIONS: { id: 'string', found: 'string' },
    FIND_RECORDS: {
      agreement: { id: 'string', active: 'number' },
      company: { id: 'string', active: 'number' },
      organization: { id: 'string', active: 'number' },
      ticket: { id: 'string', active: 'number' },
      user: { id: 'string', active: 'number' },
    },
    LIST_RECORDS: {
      agreement: { id: 'string', record: 'string' },
      company: { id: 'string', record: 'string' },
      organization: { id: 'string', record: 'string' },
      ticket: { id: 'string', record: 'string' },
      user: { id: 'string', record: 'string' },
    },
  } satisfies ReturnedColumns<typeof import('../../src/db/directory/records.ts')>,
  'db/fact-statements.ts': {
    FACT_SOURCES: {
      daily_limit: {
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'string | null', keyName: 'string | null', keyHint: 'string | null', keyExpiresAt: 'number | null', level: 'number', count: 'number', lastAt: 'null', detail: 'string' },
      },
      database_size: {
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'null', detail: 'string' },
      },
      key_expiring: {
        ofPage: { organizationId: 'string', subject: 'string', keyId: 'string', keyName: 'string', keyHint: 'string', keyExpiresAt: 'number', level: 'number', count: 'number', lastAt: 'null', detail: 'null', type: 'string', since: 'number' },
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'string', keyName: 'string', keyHint: 'string', keyExpiresAt: 'number', level: 'number', count: 'number', lastAt: 'null', detail: 'null' },
      },
      push_failing: {
        ofPage: { organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'null', detail: 'string', type: 'string', since: 'number' },
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'null', detail: 'string' },
      },
      refused_by_psa: {
        ofPage: { organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'number', detail: 'null', type: 'string', since: 'number' },
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'number', detail: 'null' },
      },
      refused_expired: {
        ofPage: { organizationId: 'string', subject: 'string', keyId: 'string', keyName: 'string', keyHint: 'string', keyExpiresAt: 'number | null', level: 'number', count: 'number', lastAt: 'number', detail: 'string', type: 'string', since: 'number' },
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'string', keyName: 'string', keyHint: 'string', keyExpiresAt: 'number | null', level: 'number', count: 'number', lastAt: 'number', detail: 'string' },
      },
      time_waiting: {
        ofPage: { organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'null', detail: 'null', type: 'string', since: 'number' },
        statement: { type: 'string', since: 'number', organizationId: 'string', subject: 'string', keyId: 'null', keyName: 'null', keyHint: 'null', keyExpiresAt: 'null', level: 'number', count: 'number', lastAt: 'null', detail: 'null' },
      },
    },
  } satisfies ReturnedColumns<typeof import('../../src/db/fact-statements.ts')>,
  'db/keys/find-key-statements.ts': {
    findKeyByHash: { organizationId: 'string', keyId: 'string', keyHash: 'string', chainId: 'string', keyName: 'string', scopes: 'string', dayLimitRecords: 'null', dayLimitMinutes: 'null', allowedNetworks: 'string', expiresAt: 'null', revokedAt: 'number | null', organizationActive: 'number', hasPsa: 'number', timeZone: 'string', found: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/keys/find-key-statements.ts')>,
  'db/keys/key-rules-statements.ts': {
    findKeyRules: { maxLifetimeDays: 'number', expiryRequired: 'number', revision: 'number', timeZone: 'string' },
  } satisfies ReturnedColumns<typeof import('../../src/db/keys/key-rules-statements.ts')>,
  'db/keys/key-statements.ts': {
    explainKey: { administrator: 'number', found: 'string', successorId: 'null', live: 'number', createdByForm: 'null', named: 'string', keysInGrace: 'number', maxLifetimeDays: 'number', expiryRequired: 'number' },
    findRevocation: { revokedAt: 'null' },
    findSomeLiveKeys: { id: 'string' },
    markRevokedByAdministrator: { revokedAt: 'number' },
    markRevokedByOperator: { revokedAt: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/keys/key-statements.ts')>,
  'db/keys/read-keys-statements.ts': {
    countLiveKeysOf: { organizationId: 'string', keys: 'number' },
    findAnyKeys: { organization: 'string', key: 'string' },
    findKeyDetails: { id: 'string', name: 'string', owner: 'string', description: 'string', companies: 'string', dayLimitRecords: 'null', dayLimitMinutes: 'null', allowedNetworks: 'string', hint: 'string', scopes: 'string', revision: 'number', createdAt: 'number', expiresAt: 'null', revokedAt: 'null', revokedById: 'null', revokedBy: 'null', createdById: 'string', createdBy: 'string', creatorActive: 'number', creatorAdmin: 'number', successorId: 'null', successorHint: 'null', predecessorId: 'null', predecessorHint: 'null', lastWriteAt: 'number', lastWriteFrom: 'string' },
    findKeyPage: { id: 'string', name: 'string', owner: 'string', description: 'string', companies: 'string', dayLimitRecords: 'number | null', dayLimitMinutes: 'number | null', allowedNetworks: 'string', hint: 'string', scopes: 'string', revision: 'number', createdAt: 'number', expiresAt: 'number | null', revokedAt: 'number | null', revokedById: 'string | null', revokedBy: 'string | null', createdById: 'string', createdBy: 'string', creatorActive: 'number', creatorAdmin: 'number', successorId: 'string | null', successorHint: 'string | null', predecessorId: 'string | null', predecessorHint: 'string | null', lastWriteAt: 'number | null', lastWriteFrom: 'string | null' },
    findKeys: { id: 'string', name: 'string', owner: 'string', description: 'string', companies: 'string', dayLimitRecords: 'number | null', dayLimitMinutes: 'number | null', allowedNetworks: 'string', hint: 'string', scopes: 'string', revision: 'number', createdAt: 'number', expiresAt: 'number | null', revokedAt: 'null', revokedById: 'null', revokedBy: 'null', createdById: 'string', createdBy: 'string', creatorActive: 'number', creatorAdmin: 'number', successorId: 'string | null', successorHint: 'string | null', predecessorId: 'null', predecessorHint: 'null', lastWriteAt: 'number | null', lastWriteFrom: 'string | null' },
    findLiveKeys: { id: 'string', name: 'string', owner: 'string', description: 'string', companies: 'string', dayLimitRecords: 'number | null', dayLimitMinutes: 'number | null', allowedNetworks: 'string', hint: 'string', scopes: 'string', revision: 'number', createdAt: 'number', expiresAt: 'number | null', revokedAt: 'null', revokedById: 'null', revokedBy: 'null', createdById: 'string', createdBy: 'string', creatorActive: 'number', creatorAdmin: 'number', successorId: 'string | null', successorHint: 'string | null', predecessorId: 'string | null', predecessorHint: 'string | null', lastWriteAt: 'number | null', lastWriteFrom: 'string | null' },
    findOwnKeys: { id: 'string', name: 'string', owner: 'string', description: 'string', companies: 'string', dayLimitRecords: 'null', dayLimitMinutes: 'null', allowedNetworks: 'string', hint: 'string', scopes: 'string', revision: 'number', createdAt: 'number', expiresAt: 'null', revokedAt: 'null', revokedById: 'null', revokedBy: 'null', createdById: 'string', createdBy: 'string', creatorActive: 'number', creatorAdmin: 'number', successorId: 'null', successorHint: 'null', predecessorId: 'null', predecessorHint: 'null', lastWriteAt: 'number', lastWriteFrom: 'string' },
  } satisfies ReturnedColumns<typeof import('../../src/db/keys/read-keys-statements.ts')>,
  'db/keys/refused-use-statements.ts': {
    findRefusedUses: { keyId: 'string', keyName: 'string', keyHint: 'string', reason: 'string', count: 'number', firstAt: 'number', lastAt: 'number', sourceAddress: 'string | null', lostWrites: 'string | null', endsAt: 'null', needsAttention: 'number' },
    findRefusedUsesPage: { keyId: 'string', keyName: 'string', keyHint: 'string', reason: 'string', count: 'number', firstAt: 'number', lastAt: 'number', sourceAddress: 'string | null', lostWrites: 'string | null', endsAt: 'null', needsAttention: 'number' },
    findUsesOfKey: { keyId: 'string', keyName: 'string', keyHint: 'string', reason: 'string', count: 'number', firstAt: 'number', lastAt: 'number', sourceAddress: 'string', lostWrites: 'string', endsAt: 'null', needsAttention: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/keys/refused-use-statements.ts')>,
  'db/work/changes.ts': {
    findChanges: { seq: 'number', at: 'number', actorType: 'string', actorId: 'string', actorName: 'string', action: 'string', targetId: 'string', ticketId: 'string | null', requestId: 'string', idempotencyKey: 'string | null', detail: 'string | null', keyId: 'string | null', keyName: 'string | null', keyHint: 'string | null', keyExpiresAt: 'number | null', keyRevokedAt: 'number | null', keySuccessorId: 'string | null', note: 'string | null', time_entry: 'string | null' },
    findCursorPosition: { epoch: 'string', organizationId: 'string | null', requestId: 'null', isBeingErased: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/changes.ts')>,
  'db/work/connections.ts': {
    findConnections: { organizationId: 'string', adapterId: 'string', reportedAt: 'number', failingSince: 'number', failure: 'string', stoppedAt: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/connections.ts')>,
  'db/work/key-days.ts': {
    findChainDay: { records: 'number', minutes: 'number', bytes: 'number' },
    findChainUse: { day: 'string', records: 'number', minutes: 'number', lastAt: 'number', lastAddress: 'string' },
    findKeyDays: { keyId: 'string', day: 'string', minutes: 'number', lastAddress: 'string', note: 'number', time_entry: 'number' },
    findStoredText: { organizationId: 'string', records: 'number', bytes: 'number', bytesSince: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/key-days.ts')>,
  'db/work/note-statements.ts': {
    explainNote: { organizationId: 'string', keyId: 'string', keyHash: 'string', chainId: 'string', keyName: 'string', scopes: 'string', dayLimitRecords: 'null', dayLimitMinutes: 'null', allowedNetworks: 'string', expiresAt: 'null', revokedAt: 'null', organizationActive: 'number', hasPsa: 'number', timeZone: 'string', chainRecords: 'number', chainMinutes: 'number', chainBytes: 'number', organizationRecords: 'number', organizationBytes: 'number', id: 'string | null', ticketId: 'string | null', createdAt: 'number | null', requestId: 'string | null', requestDigest: 'string | null', ticketFound: 'number', otherCompany: 'number', fromOwnChain: 'number', recordAdmitted: 'number', userFound: 'number' },
    insertNote: { id: 'string', ticketId: 'string', createdAt: 'number', requestId: 'string', requestDigest: 'string', chainRecords: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/note-statements.ts')>,
  'db/work/record-statements.ts': {
    countRefusals: { refused: 'number', since: 'number' },
    findApproval: { status: 'string', decidedAt: 'number | null', decidedBy: 'string | null' },
    findRecord: {
      note: { id: 'string' },
      time_entry: { id: 'string' },
    },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/record-statements.ts')>,
  'db/work/time-entry-statements.ts': {
    explainServiceTimeEntry: { organizationId: 'string', keyId: 'string', keyHash: 'string', chainId: 'string', keyName: 'string', scopes: 'string', dayLimitRecords: 'null', dayLimitMinutes: 'null', allowedNetworks: 'string', expiresAt: 'null', revokedAt: 'null', organizationActive: 'number', hasPsa: 'number', timeZone: 'string', chainRecords: 'number', chainMinutes: 'number', chainBytes: 'number', organizationRecords: 'number', organizationBytes: 'number', id: 'string | null', ticketId: 'string | null', createdAt: 'number | null', requestId: 'string | null', requestDigest: 'string | null', userId: 'string | null', minutes: 'number | null', billable: 'number | null', workDate: 'string | null', hourlyRateMinor: 'number | null', agreementSource: 'string | null', status: 'string | null', ticketFound: 'number', otherCompany: 'number', fromOwnChain: 'number', recordAdmitted: 'number', userFound: 'number' },
    explainTechnicianTimeEntry: { organizationId: 'string', keyId: 'string', keyHash: 'string', chainId: 'string', keyName: 'string', scopes: 'string', dayLimitRecords: 'null', dayLimitMinutes: 'null', allowedNetworks: 'string', expiresAt: 'null', revokedAt: 'null', organizationActive: 'number', hasPsa: 'number', timeZone: 'string', chainRecords: 'number', chainMinutes: 'number', chainBytes: 'number', organizationRecords: 'number', organizationBytes: 'number', id: 'string | null', ticketId: 'string | null', createdAt: 'number | null', requestId: 'string | null', requestDigest: 'string | null', userId: 'string | null', minutes: 'number | null', billable: 'number | null', workDate: 'string | null', hourlyRateMinor: 'number | null', agreementSource: 'string | null', status: 'string | null', ticketFound: 'number', otherCompany: 'number', fromOwnChain: 'number', recordAdmitted: 'number', userFound: 'number' },
    insertServiceTimeEntry: { id: 'string', ticketId: 'string', createdAt: 'number', requestId: 'string', requestDigest: 'string', userId: 'string', minutes: 'number', billable: 'number', workDate: 'string', hourlyRateMinor: 'number', agreementSource: 'string', status: 'string', chainRecords: 'number' },
    insertTechnicianTimeEntry: { id: 'string', ticketId: 'string', createdAt: 'number', requestId: 'string', requestDigest: 'string', userId: 'string', minutes: 'number', billable: 'number', workDate: 'string', hourlyRateMinor: 'number', agreementSource: 'string', status: 'string', chainRecords: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/time-entry-statements.ts')>,
  'db/work/time-queue-statements.ts': {
    countWaiting: { count: 'number' },
    findEntries: { seq: 'number', id: 'string', ticketId: 'string', companyId: 'string', company: 'string', minutes: 'number', billable: 'number', workDate: 'string', hourlyRateMinor: 'number', status: 'string', userId: 'string', technician: 'string', keyId: 'string', keyName: 'string', keyHint: 'string', text: 'string', decidedAt: 'number | null', decidedById: 'string | null', decidedBy: 'string | null', reason: 'null' },
    findEntriesById: { seq: 'number', id: 'string', ticketId: 'string', companyId: 'string', company: 'string', minutes: 'number', billable: 'number', workDate: 'string', hourlyRateMinor: 'number', status: 'string', userId: 'string', technician: 'string', keyId: 'string', keyName: 'string', keyHint: 'string', text: 'string', decidedAt: 'number | null', decidedById: 'string | null', decidedBy: 'string | null', reason: 'null' },
    findQueue: { start: 'number', last: 'number', approvals: 'string' },
  } satisfies ReturnedColumns<typeof import('../../src/db/work/time-queue-statements.ts')>,
  'modules/alerts/alert-statements.ts': {
    claimAlerts: { organizationId: 'string', type: 'string', subject: 'string', id: 'string', foundAt: 'number', text: 'string', toReceiver: 'number', toChat: 'number' },
    findStoredAlerts: { organizationId: 'string', type: 'string', subject: 'string', level: 'number' },
  } satisfies ReturnedColumns<typeof import('../../src/modules/alerts/alert-statements.ts')>,
  'modules/push/push-statements.ts': {
    findDuePushes: { organizationId: 'string', isErased: 'number' },
    findPushStatus: { organizationId: 'string', confirmedSeq: 'number | null', failingSince: 'number | null', attempts: 'number | null', failure: 'string | null', nextAttemptAt: 'number | null', stoppedAt: 'null', newestSeq: 'number', waitingSince: 'number | null' },
  } satisfies ReturnedColumns<typeof import('../../src/modules/push/push-statements.ts')>,
};
