import { findKeyDetails, findKeyPage, findKeysByHint, findLiveKeys, findOwnKeyByHash, type KeyDetailsRow } from '../../db/keys/key-details.ts';
import { hashKey, isLive, type KeyState, keyState, parseKeyReference, parseScopes, type Scope } from '../../domain/api-key.ts';
import type { RateLimitPolicy } from '../../domain/rate-limit.ts';
import { atD1, forNextPage } from '../audit/write-with-audit.ts';
import type { OrganizationContext } from '../context.ts';

/** A key as its administrators see it. Times are UTC milliseconds. */
export interface KeyDetails {
  id: string;
  name: string;
  hint: string;
  scopes: Scope[];
  state: KeyState;
  limit: RateLimitPolicy | null;
  createdAt: number;
  createdBy: string;
  /** Whether whoever created it is still an active administrator. */
  creatorActive: boolean;
  expiresAt: number | null;
  revokedAt: number | null;
  revokedBy: string | null;
  successor: KeyLink | null;
  predecessor: KeyLink | null;
  lastWrite: { at: number; from: string | null } | null;
}

/** The other key of a rotation. */
export interface KeyLink {
  id: string;
  hint: string;
}

/** Ended keys on one page of the list. */
const PAGE_SIZE = 100;
/** After every id that there can be: ids are lower-case hex. */
const END = 'g';

/** The list of keys: those alive, by name, and a page of the others, newest first, with the cursor of the next page. */
export interface KeyList {
  live: KeyDetails[];
  ended: KeyDetails[];
  next: string | undefined;
}

/**
 * One page of the organization's keys. Each page looks at a fixed number of them, so one that holds many live keys lists fewer ended ones.
 * @throws Refusal `unavailable`
 */
export async function listKeys(ctx: OrganizationContext, before = END): Promise<KeyList> {
  const { organizationId, db } = ctx;
  const now = ctx.now();
  const [live, page] = await atD1(ctx, () =>
    db.batch<KeyDetailsRow>([
      findLiveKeys.bind(db, { organizationId, now }),
      findKeyPage.bind(db, { organizationId, before, limit: PAGE_SIZE + 1 }),
    ]),
  );
  const looked = page?.results.slice(0, PAGE_SIZE) ?? [];
  return {
    live: (live?.results ?? []).map((row) => toKeyDetails(row, now)),
    ended: looked.map((row) => toKeyDetails(row, now)).filter(({ state }) => !isLive(state)),
    next: (page?.results.length ?? 0) > PAGE_SIZE ? looked.at(-1)?.id : undefined,
  };
}

/** All keys of the organization, newest first, a page at a time. */
export async function* everyKey(ctx: OrganizationContext): AsyncGenerator<KeyDetails[]> {
  const { organizationId, db } = ctx;
  for (let before: string | undefined = END; before !== undefined; ) {
    const cursor: string = before;
    const { results } = await atD1(forNextPage(ctx), () =>
      findKeyPage.bind(db, { organizationId, before: cursor, limit: PAGE_SIZE }).all<KeyDetailsRow>(),
    );
    yield results.map((row) => toKeyDetails(row, ctx.now()));
    before = results.length === PAGE_SIZE ? results.at(-1)?.id : undefined;
  }
}

/**
 * One key of the organization, or undefined.
 * @throws Refusal `unavailable`
 */
export async function getKey(ctx: OrganizationContext, keyId: string): Promise<KeyDetails | undefined> {
  const { organizationId, db } = ctx;
  const row = await atD1(ctx, () => findKeyDetails.bind(db, { organizationId, keyId }).first<KeyDetailsRow>());
  return row ? toKeyDetails(row, ctx.now()) : undefined;
}

/**
 * The organization's keys that a pasted text belongs to: a whole value or a hint, as `parseKeyReference` reads them. `neither` is a text
 * that is none of these, such as a value with a piece missing. The value is hashed, and kept and logged nowhere.
 * @throws Refusal `unavailable`
 */
export async function identifyKey(ctx: OrganizationContext, keyPrefix: string, pasted: string): Promise<KeyDetails[] | 'neither'> {
  const { organizationId, db } = ctx;
  const reference = parseKeyReference(pasted);
  if (!reference || ('value' in reference && !reference.value.startsWith(`${keyPrefix}_`))) return 'neither';
  const statement =
    'value' in reference
      ? findOwnKeyByHash.bind(db, { organizationId, hash: await hashKey(reference.value) })
      : findKeysByHint.bind(db, { organizationId, hint: reference.hint });
  const { results } = await atD1(ctx, () => statement.all<KeyDetailsRow>());
  return results.map((row) => toKeyDetails(row, ctx.now()));
}

function toKeyDetails(row: KeyDetailsRow, now: number): KeyDetails {
  const link = (id: string | null, hint: string | null) => (id === null || hint === null ? null : { id, hint });
  return {
    id: row.id,
    name: row.name,
    hint: row.hint,
    scopes: parseScopes(row.scopes),
    state: keyState(row, now),
    limit: row.limitQuota === null || row.limitWindowMs === null ? null : { quota: row.limitQuota, windowMs: row.limitWindowMs },
    createdAt: row.createdAt,
    createdBy: row.createdBy,
    creatorActive: row.creatorActive === 1 && row.creatorAdmin === 1,
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    // Whoever is no user of the organization is an operator, written out.
    revokedBy: row.revokedBy ?? row.revokedById,
    successor: link(row.successorId, row.successorHint),
    predecessor: link(row.predecessorId, row.predecessorHint),
    lastWrite: row.lastWriteAt === null ? null : { at: row.lastWriteAt, from: row.lastWriteFrom },
  };
}
