/** The outlines of the icons, in a square of 16 units. */
const OUTLINES = {
  active: 'M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z',
  alert: 'M8 2 1.5 13.5h13zM8 6.5v3M8 11.5v.01',
  ban: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM4 4l8 8',
  book: 'M8 4C6.5 2.8 4.5 2.5 2 2.5v10c2.5 0 4.5.3 6 1.5 1.5-1.2 3.5-1.5 6-1.5v-10c-2.5 0-4.5.3-6 1.5zM8 4v10',
  check: 'm3 8.5 3 3 7-7',
  bolt: 'M9 1.5 3 9h4l-.5 5.5L13 7H8.5z',
  close: 'm4.5 4.5 7 7M11.5 4.5l-7 7',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  down: 'm4 6 4 4 4-4',
  expired: 'M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10zM8 5.5v3M8 10.5v.01',
  hourglass: 'M4 2h8M4 14h8M5 2c0 3 3 4 3 6s-3 3-3 6M11 2c0 3-3 4-3 6s3 3 3 6',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5V11M8 5v.01',
  key: 'M9.5 9a3.5 3.5 0 1 0-2.6-1.2L2 12.7V14h2.5v-1.5H6V11l1.8-1.8c.5.2 1 .3 1.7-.2zM10.5 5.5v.01',
  left: 'm10 4-4 4 4 4',
  more: 'M8 3.5v.01M8 8v.01M8 12.5v.01',
  note: 'M3 2.5h10v8l-3 3H3zM13 10.5h-3v3M5.5 5.5h5M5.5 8h3',
  pen: 'M10.5 3 13 5.5 5.5 13H3v-2.5z',
  rotate: 'M13 5A5.5 5.5 0 0 0 3 6M3 2.5V6h3.5M3 11a5.5 5.5 0 0 0 10-1M13 13.5V10H9.5',
  sort: 'm5 6 3-3 3 3M5 10l3 3 3-3',
  stop: 'M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.5M8 11v.01',
  up: 'm4 10 4-4 4 4',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-3 2.7-4.5 5.5-4.5s5 1.5 5.5 4.5',
} as const;

export type IconName = keyof typeof OUTLINES;

/** A picture beside words that say the same, so screen readers skip it. */
export function Icon({ name, kind = '' }: { name: IconName; kind?: string }) {
  return (
    <svg class={`icon ${name} ${kind}`.trimEnd()} viewBox="0 0 16 16" aria-hidden="true">
      <path d={OUTLINES[name]} />
    </svg>
  );
}
