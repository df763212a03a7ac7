import {
  countLiveKeysOf,
  findAnyKeys,
  findKeyDetails,
  findKeyPage,
  findKeys,
  findLiveKeys,
  findOwnKeys,
  type KeyDetailsRow,
} from '../../db/keys/read-keys-statements.ts';
import { findChainDay } from '../../db/work/key-days.ts';
import { findPastedKeys, isLive, keyState } from '../../domain/api-key.ts';
import { directoryId } from '../../domain/directory.ts';
import { errorOf, ServiceError } from '../../domain/errors.ts';
import { lazyObject } from '../../domain/fields.ts';
import { AFTER_ALL_IDS, recordId } from '../../domain/record-id.ts';
import { parseScopes } from '../../domain/record-kinds.ts';
import { query, queryAll } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import { type AdminContext, type ExportPage, forNextCall, type SystemContext } from '../service-context.ts';

export type { ChainDay } from '../../db/work/key-days.ts';

/** A key as its administrators see it. Times are UTC milliseconds. */
export type KeyDetails = ReturnType<typeof toKeyDetails>;

export type KeyLink = NonNullable<KeyDetails['successor']>;

const CHOICE_SIZE = 100;
const EXPORT_PAGE_SIZE = 500;

/** The keys to choose from in a filter: the live ones by name, then the newest of the ended ones. */
export async function listKeysToChoose(ctx: AdminContext): Promise<KeyDetails[]> {
  const { organizationId } = ctx.actor;
  const now = ctx.now();
  const [live, newest] = await query(ctx, 'nothing_written', (db) =>
    db.batch([findLiveKeys(db, organizationId, now), findKeyPage(db, organizationId, AFTER_ALL_IDS, CHOICE_SIZE)]),
  );
  const ended = newest.map((row) => toKeyDetails(row, now)).filter(({ state }) => !isLive(state));
  return [...live.map((row) => toKeyDetails(row, now)), ...ended];
}

export async function countLiveKeys(ctx: AdminContext): Promise<number> {
  const { organizationId } = ctx.actor;
  const [row] = await query(ctx, 'nothing_written', (db) => countLiveKeysOf(db, [organizationId], ctx.now()));
  return row?.keys ?? 0;
}

/** All keys of the organization created before a key, newest first, a page at a time. */
export async function* everyKey(
  ctx: AdminContext,
  beforeKeyId = AFTER_ALL_IDS,
): AsyncGenerator<ExportPage<KeyDetails>> {
  const { organizationId } = ctx.actor;
  for (let before: string | undefined = beforeKeyId; before !== undefined; ) {
    const after: string = before;
    const results: KeyDetailsRow[] = await query(forNextCall(ctx), 'nothing_written', (db) =>
      findKeyPage(db, organizationId, after, EXPORT_PAGE_SIZE),
    );
    before = results.length === EXPORT_PAGE_SIZE ? results.at(-1)?.id : undefined;
    yield { items: results.map((row) => toKeyDetails(row, ctx.now())), next: before };
  }
}

export async function findOwnKey(ctx: AdminContext, keyId: string): Promise<KeyDetails | undefined> {
  const { organizationId } = ctx.actor;
  const [row] = await query(ctx, 'nothing_written', (db) => findKeyDetails(db, organizationId, keyId));
  return row ? toKeyDetails(row, ctx.now()) : undefined;
}

/** The keys of the organization among `keyIds`, by name. */
export async function listKeysById(ctx: AdminContext, keyIds: readonly string[]): Promise<KeyDetails[]> {
  if (keyIds.length === 0) return [];
  const { organizationId } = ctx.actor;
  const rows = await query(ctx, 'nothing_written', (db) => findKeys(db, organizationId, keyIds));
  return rows.map((row) => toKeyDetails(row, ctx.now()));
}

/** @throws ServiceError `key_not_found` */
export async function getOwnKey(ctx: AdminContext, keyId: string): Promise<KeyDetails> {
  const key = await findOwnKey(ctx, keyId);
  if (!key) throw keyNotFound(ctx.actor.organizationId, keyId);
  return key;
}

/** A key that works. @throws ServiceError `key_not_found`, `key_not_live` */
export async function getLiveKey(ctx: AdminContext, keyId: string): Promise<KeyDetails> {
  const key = await getOwnKey(ctx, keyId);
  if (!isLive(key.state)) throw errorOf('key_not_live');
  return key;
}

/** A key, and what its chain has written on `day`. @throws ServiceError `key_not_found` */
export async function getKeyAndDay(ctx: AdminContext, keyId: string, day: string) {
  const { organizationId } = ctx.actor;
  const [[row], [written]] = await query(ctx, 'nothing_written', (db) =>
    db.batch([findKeyDetails(db, organizationId, keyId), findChainDay(db, organizationId, keyId, day)]),
  );
  if (!row) throw keyNotFound(organizationId, keyId);
  if (!written) throw new Error('the sum over the ledger returned no row');
  return { key: toKeyDetails(row, ctx.now()), written };
}

export function keyNotFound(organizationId: string, keyId: string): ServiceError {
  return new ServiceError('key_not_found', `Organization ${organizationId} has no key ${keyId}.`);
}

/**
 * The values and hints of this deployment's keys in a pasted text, each with the keys of the organization that it names. A
 * value is never stored or logged.
 */
export async function identifyKeys(
  ctx: AdminContext,
  keyPrefix: string,
  text: string,
): Promise<{ hint: string; isWhole: boolean; keys: KeyDetails[] }[]> {
  const pasted = (await findPastedKeys(text)).filter(({ hint }) => hint.startsWith(`${keyPrefix}_`));
  const found = await queryAll(ctx, 'nothing_written', (db) =>
    pasted.map((one) => findOwnKeys(db, ctx.actor.organizationId, one)),
  );
  return pasted.map(({ hint, hash }, index) => ({
    hint,
    isWhole: hash !== null,
    keys: (found[index] ?? []).map((row) => toKeyDetails(row, ctx.now())),
  }));
}

export function toKeyDetails(row: KeyDetailsRow, now: number) {
  const { creatorActive, creatorAdmin, revokedById, lastWriteAt, lastWriteFrom, ...links } = row;
  const { successorId, successorHint, predecessorId, predecessorHint, ...key } = links;
  return {
    ...key,
    scopes: parseScopes(key.scopes),
    state: keyState(key, now),
    /** Whether the creator is still an active administrator. */
    creatorActive: creatorActive === 1 && creatorAdmin === 1,
    // An id without a user is the description of an operator.
    revokedBy: key.revokedBy ?? revokedById,
    successor: toLink(successorId, successorHint),
    predecessor: toLink(predecessorId, predecessorHint),
    lastWrite: lastWriteAt === null ? null : { at: lastWriteAt, from: lastWriteFrom },
  };
}

const toLink = (id: string | null, hint: string | null) => (id === null || hint === null ? null : { id, hint });

/** A key of any organization, as an operator sees it. */
export type AnyKey = Awaited<ReturnType<typeof getKeyAnywhere>>;

/** The keys of all organizations that the values and hints in a text name. @throws ServiceError `not_a_key` without any */
export async function findKeysAnywhere(ctx: SystemContext, text: string): Promise<AnyKey[]> {
  const pasted = await findPastedKeys(text);
  if (pasted.length === 0) throw errorOf('not_a_key');
  const found = await queryAll(ctx, 'nothing_written', (db) => pasted.map((one) => findAnyKeys(db, one)));
  return Promise.all(found.flat().map((one) => getKeyAnywhere(ctx, one)));
}

const keyRequest = lazyObject(() => ({ organization: directoryId('an organization'), key: recordId('the key') }));

/** @throws ServiceError `invalid`, `key_not_found` */
export async function getKeyAnywhere(ctx: SystemContext, request: { organization: string; key: string }) {
  const { organization: organizationId, key: keyId } = parseInput(keyRequest, request);
  const [row] = await query(ctx, 'nothing_written', (db) => findKeyDetails(db, organizationId, keyId));
  if (!row) throw keyNotFound(organizationId, keyId);
  return { organizationId, ...toKeyDetails(row, ctx.now()) };
}

/** The keys that replace a key or that it replaces, if they work. */
export async function liveRelativesOf(
  ctx: SystemContext,
  { organizationId: organization, successor, predecessor }: AnyKey,
) {
  const links = [[successor, 'replaces it'] as const, [predecessor, 'it replaces'] as const];
  const found = links.map(async ([link, how]) =>
    link === null ? [] : { ...(await getKeyAnywhere(ctx, { organization, key: link.id })), how },
  );
  return (await Promise.all(found)).flat().filter(({ state }) => isLive(state));
}
