const SMALLEST = 4;

/** A first-in, first-out queue of numbers. Its memory is at most four times the size of its numbers. */
export class NumberRing {
  private slots = new Float64Array(SMALLEST);
  private start = 0;
  private size = 0;

  get length(): number {
    return this.size;
  }

  /** The number at an index, counted from the oldest. @throws RangeError if there is none. */
  at(index: number): number {
    const value = index < this.size ? this.slots[(this.start + index) % this.slots.length] : undefined;
    if (value === undefined) throw new RangeError(`no entry ${index}`);
    return value;
  }

  push(value: number): void {
    if (this.size === this.slots.length) this.resize(this.slots.length * 2);
    this.slots[(this.start + this.size) % this.slots.length] = value;
    this.size += 1;
  }

  /** Removes the oldest number and returns it. @throws RangeError if there is none. */
  shift(): number {
    const oldest = this.at(0);
    this.start = (this.start + 1) % this.slots.length;
    this.size -= 1;
    if (this.slots.length > SMALLEST && this.size <= this.slots.length / 4) this.resize(this.slots.length / 2);
    return oldest;
  }

  private resize(capacity: number): void {
    const slots = new Float64Array(capacity);
    for (let i = 0; i < this.size; i++) slots[i] = this.at(i);
    this.slots = slots;
    this.start = 0;
  }
}
