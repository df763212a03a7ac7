import type { PropsWithChildren } from 'hono/jsx';

type Option = readonly [value: string, text: string];

/** The options, and the selected one even if the list does not have it. */
export const withSelected = (value: string | undefined, text: string | undefined, options: readonly Option[]) =>
  new Map([...(value === undefined ? [] : [[value, text ?? value] as const]), ...options]);

export function Options({ options, value }: { options: Iterable<Option>; value: string | undefined }) {
  return (
    <>
      {Array.from(options, ([one, label]) => (
        <option value={one} selected={one === value}>
          {label}
        </option>
      ))}
    </>
  );
}

export function Select({ label, name, children }: PropsWithChildren<{ label: string; name: string }>) {
  return (
    <label>
      {label}
      <select name={name}>
        <option value="">All</option>
        {children}
      </select>
    </label>
  );
}
