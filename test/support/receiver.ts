import { Webhook } from 'standardwebhooks';
import type { Change } from '../../src/domain/change.ts';

/** A secret, for tests only. */
export const WEBHOOK_SECRET = `whsec_${btoa('a secret of thirty-two characters')}`;

/** What is posted to a receiver. */
export interface PushedPage {
  type: 'work.changes';
  timestamp: string;
  data: { organization: string; changes: Change[]; cursor: string };
}

/** One message as it arrived. */
interface Delivery {
  id: string;
  organization: string;
  /** The `seq` of its first and last change. */
  range: [first: number, last: number];
  bytes: number;
}

/**
 * A receiver as a PSA would have one: it verifies each message with the published library, ignores
 * one whose id it knows, and stores the changes by `seq`.
 */
export class Receiver {
  /** Every message that was verified, duplicates included. */
  readonly deliveries: Delivery[] = [];
  /** What is wrong with what arrived, in words. */
  readonly problems: string[] = [];
  private readonly webhook: Webhook;
  private readonly ids = new Set<string>();
  private readonly stored = new Map<string, Change[]>();

  constructor(secret: string = WEBHOOK_SECRET) {
    this.webhook = new Webhook(secret);
  }

  /** Verifies and stores a message. @throws if it is not signed with the secret */
  receive(headers: Record<string, string>, body: string): PushedPage {
    this.webhook.verify(body, headers);
    const page: PushedPage = JSON.parse(body);
    const { organization, changes } = page.data;
    const id = headers['webhook-id'] ?? '';
    const [first = 0, last = 0] = [changes[0]?.seq, changes.at(-1)?.seq];
    const bytes = new TextEncoder().encode(body).length;
    this.deliveries.push({ id, organization, range: [first, last], bytes });
    if (bytes > 512 * 1024 || changes.length > 100 || changes.length === 0)
      this.problems.push(`${organization}: ${changes.length} changes, ${bytes} bytes`);
    if (page.data.cursor !== changes.at(-1)?.cursor) this.problems.push(`${organization}: cursor of another change`);
    if (this.ids.has(id)) return page;
    this.ids.add(id);
    const stored = this.stored.get(organization) ?? [];
    this.stored.set(organization, stored);
    for (const change of changes) {
      if (change.seq <= stored.length) continue;
      if (change.seq !== stored.length + 1)
        this.problems.push(`${organization}: ${change.seq} came after ${stored.length}`);
      stored.push(change);
    }
    return page;
  }

  /** The changes of an organization, in the order in which they arrived. */
  changesOf(organization: string): readonly Change[] {
    return this.stored.get(organization) ?? [];
  }

  /** The messages whose range overlaps with the one before under another id. Only the first half of a page that timed out may do so. */
  overlapsOf(organization: string): { id: string; isHalf: boolean }[] {
    let end = { id: '', range: [0, 0] };
    return this.deliveriesOf(organization).flatMap(({ id, range }) => {
      const [[first, last], [, lastBefore = 0], [firstBefore]] = [range, end.range, end.range];
      const isOverlap = id !== end.id && first <= lastBefore;
      end = { id, range };
      return isOverlap ? [{ id, isHalf: first === firstBefore && last < lastBefore }] : [];
    });
  }

  /** The messages of an organization, duplicates included. */
  deliveriesOf(organization: string): Delivery[] {
    return this.deliveries.filter((delivery) => delivery.organization === organization);
  }
}
