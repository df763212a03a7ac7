import { alias } from 'drizzle-orm/sqlite-core';
import { auditLog } from './schema/audit.ts';
import { companies, tickets, users } from './schema/directory.ts';
import { apiKeys, refusedRequests } from './schema/keys.ts';
import { keyDays, timeEntries } from './schema/work.ts';

// The second names of tables that a statement reads twice, or in a subquery. Drizzle leaves out the name of a table that is
// the only one of its query, so a subquery that compares with a column outside needs its own name.

/** The newest and the oldest audit row of the organization. */
export const latest = alias(auditLog, 'latest');
export const oldest = alias(auditLog, 'oldest');
/** An audit row of the same key. */
export const earlier = alias(auditLog, 'earlier');
/** The audit rows that a page examines. */
export const examined = alias(auditLog, 'examined');
/** The audit row of the decision about a time entry. */
export const decision = alias(auditLog, 'decision');
/** Any key of the organization, beside the key that a statement is about. */
export const anyKey = alias(apiKeys, 'any_key');
/** The key that replaced a key, and the key that it replaced. */
export const successor = alias(apiKeys, 'successor');
export const predecessor = alias(apiKeys, 'predecessor');
/** A refused request, in a subquery. */
export const request = alias(refusedRequests, 'request');
/** The administrators who created and who revoked a key. */
export const creator = alias(users, 'creator');
export const revoker = alias(users, 'revoker');
/** The administrator who acts. */
export const administrator = alias(users, 'administrator');
/** The time entries that wait for a decision. */
export const waiting = alias(timeEntries, 'waiting');
/** The key of the same rotation chain that wrote a record. */
export const writer = alias(apiKeys, 'writer');
/** The ticket of a record that exists, and its company. */
export const recordTicket = alias(tickets, 'record_ticket');
export const recordCompany = alias(companies, 'record_company');
/** A user who is already present, beside those that a statement inserts. */
export const present = alias(users, 'present');
/** Any day of a key in the daily ledger, in a subquery. */
export const anyDay = alias(keyDays, 'any_day');
