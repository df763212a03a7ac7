import { recordsOf, recordsOfDay, type Usage } from '../../../services/keys/key-usage.ts';
import { counted, formatNumber } from './components.tsx';

const STEP = 4;
const BAR = 3;
const HEIGHT = 24;
/** A busy day has at least this many writes: a key with one write a day is not drawn at full height. */
const MIN_SCALE = 10;

/** The writes of each day as bars, scaled to the key's own maximum, and their sum as a number. */
export function Bars({ usage }: { usage: Usage }) {
  const totals = usage.map(recordsOfDay);
  const [sum, maximum] = [recordsOf(usage), Math.max(0, ...totals)];
  const width = usage.length * STEP - (STEP - BAR);
  const scale = HEIGHT / Math.max(MIN_SCALE, maximum);
  const path = totals
    .map((total, day) =>
      total === 0 ? '' : `M${day * STEP} ${HEIGHT}v-${(total * scale).toFixed(1)}h${BAR}V${HEIGHT}z`,
    )
    .join('');
  const label =
    sum === 0
      ? `No writes in ${usage.length} days`
      : `${counted(sum, 'write')} in ${usage.length} days, at most ${formatNumber(maximum)} a day`;
  return (
    <>
      <span class={sum === 0 ? 'sum dash' : 'sum'}>{formatNumber(sum)}</span>
      <svg class="bars" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
        <path class="base" d={`M0 ${HEIGHT - 1}h${width}v1H0z`} />
        <path d={path} />
      </svg>
    </>
  );
}
