export function keysOf<Type extends object>(object: Type): Extract<keyof Type, string>[] {
  const keys: Extract<keyof Type, string>[] = [];
  for (const key in object) keys.push(key);
  return keys;
}

export function fromKeys<Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value>;
export function fromKeys(keys: readonly string[], make: (key: string) => unknown): unknown {
  return Object.fromEntries(keys.map((key) => [key, make(key)]));
}

export function pluck<Table extends Record<string, Record<Property, unknown>>, Property extends string>(
  table: Table,
  property: Property,
): { [Key in keyof Table]: Table[Key][Property] };
export function pluck(table: Record<string, Record<string, unknown>>, property: string): unknown {
  return Object.fromEntries(Object.entries(table).map(([key, entry]) => [key, entry[property]]));
}

export function pick<Type extends object, Key extends Extract<keyof Type, string>>(
  object: Type,
  keys: readonly Key[],
): Pick<Type, Key>;
export function pick(object: Record<string, unknown>, keys: readonly string[]): unknown {
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}
