/** A bounded cache: at most `capacity` entries, each with its own expiry. */
export class ExpiringMap<Value> {
  private readonly entries = new Map<string, { value: Value; until: number }>();
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.entries.size;
  }

  /** The value, or undefined from `until` on. */
  get(key: string, now: number): Value | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (now < entry.until) return entry.value;
    this.entries.delete(key);
    return undefined;
  }

  /** Stores the value until `until`. A full map evicts the entry that was set longest ago. */
  set(key: string, value: Value, until: number): void {
    this.entries.delete(key);
    if (this.entries.size >= this.capacity) {
      const [oldest] = this.entries.keys();
      if (oldest !== undefined) this.entries.delete(oldest);
    }
    this.entries.set(key, { value, until });
  }

  delete(key: string): void {
    this.entries.delete(key);
  }
}
