/** The keys of an object, in order, with their types. */
export function keysOf<Type extends object>(object: Type): Extract<keyof Type, string>[] {
  const keys: Extract<keyof Type, string>[] = [];
  for (const key in object) keys.push(key);
  return keys;
}

/** An object with one value for each of the keys. */
export function fromKeys<Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value>;
export function fromKeys(keys: readonly string[], make: (key: string) => unknown): unknown {
  return Object.fromEntries(keys.map((key) => [key, make(key)]));
}
