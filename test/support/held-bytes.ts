/** Bytes of all typed arrays that an object holds, directly or in its properties and maps. */
export function heldBytes(value: unknown): number {
  if (ArrayBuffer.isView(value)) return value.buffer.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  const parts: unknown[] = value instanceof Map ? [...value.values()] : Object.values(value);
  return parts.reduce((sum: number, part) => sum + heldBytes(part), 0);
}

/** How many entries the maps that an object holds have in all. */
export function heldEntries(value: unknown): number {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0;
  const parts: unknown[] = value instanceof Map ? [...value.values()] : Object.values(value);
  return parts.reduce((sum: number, part) => sum + heldEntries(part), value instanceof Map ? value.size : 0);
}
