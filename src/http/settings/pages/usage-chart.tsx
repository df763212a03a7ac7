import { dateText } from '../../../domain/calendar.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind, writableKinds } from '../../../domain/record-kinds.ts';
import { type DayUsage, recordsOf, recordsOfDay, USAGE_DAYS, type Usage } from '../../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { counted, formatNumber } from './components.tsx';

/** A bar of each day, in the colour of a kind of record. */
type Bar = readonly [kind: RecordKind, label: string, amount: (day: DayUsage) => number];

const RECORDS = RECORD_KIND_NAMES.map(
  (kind): Bar => [kind, RECORD_KINDS[kind].scopeLabel, ({ records }) => records[kind]],
);
const MINUTES: Bar = ['time_entry', 'Minutes', ({ minutes }) => minutes];

interface Props {
  usage: Usage;
  subject: Pick<KeyDetails, 'scopes' | 'dayLimitRecords' | 'dayLimitMinutes'>;
}

/** Charts of the records of a key on each of 30 days, and of the minutes if it logged any. */
export function UsageChart({ usage, subject: { scopes, dayLimitRecords, dayLimitMinutes } }: Props) {
  const kinds = writableKinds(scopes);
  const bars = RECORDS.filter(([kind]) => kinds.includes(kind));
  return (
    <section class="card" aria-labelledby="use">
      <h2 id="use">Last {USAGE_DAYS} days</h2>
      <div class="charts">
        <Chart title="Writes per day" usage={usage} bars={bars} limit={dayLimitRecords} />
        {usage.some(({ minutes }) => minutes > 0) && (
          <Chart title="Minutes per day" usage={usage} bars={[MINUTES]} limit={dayLimitMinutes} />
        )}
      </div>
    </section>
  );
}

interface ChartProps {
  title: string;
  usage: Usage;
  bars: readonly Bar[];
  /** The key's own daily limit. */
  limit: number | null;
}

const amountOf = (bars: readonly Bar[], day: DayUsage) => bars.reduce((sum, [, , amount]) => sum + amount(day), 0);

/**
 * A pointer on a day shows its numbers. Time entries are outlined and notes are filled, so that the chart is readable
 * without colour. A limit is a dashed line, if a day came near it.
 */
function Chart({ title, usage, bars, limit: own }: ChartProps) {
  const maximum = Math.max(0, ...usage.map((day) => amountOf(bars, day)));
  const limit = own !== null && maximum * 2 >= own ? own : null;
  const top = roundUp(Math.max(4, maximum, limit ?? 0));
  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        {bars.map(([kind, label, amount]) => (
          <span class="legend">
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <path class={`fill ${kind}`} d="M1 1h10v10H1z" />
            </svg>
            {label}: {formatNumber(usage.reduce((sum, day) => sum + amount(day), 0))}
          </span>
        ))}
        {limit !== null && (
          <span class="legend">
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <path class="limit" d="M0 6h12" />
            </svg>
            Limit: {formatNumber(limit)} a day
          </span>
        )}
      </figcaption>
      <div class="plot">
        <div class="scale" aria-hidden="true">
          <span>{formatNumber(top)}</span>
          <span>{formatNumber(top / 2)}</span>
          <span>0</span>
        </div>
        <Plot {...{ title, usage, bars, limit, maximum, top }} />
        <div class="days" aria-hidden="true">
          {[usage.at(0), usage.at(-1)].map((day) => (
            <span>{day && dateText(day.day)}</span>
          ))}
        </div>
      </div>
    </figure>
  );
}

/** The bars of all days on a scale up to `top`. */
function Plot({ title, usage, bars, limit, maximum, top }: ChartProps & { maximum: number; top: number }) {
  // Of the bars drawn so far, on each day.
  const heights = usage.map(() => 0);
  return (
    <svg
      viewBox={`0 0 ${usage.length * 10} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${title}: at most ${formatNumber(maximum)}${limit === null ? '' : `, with a limit of ${formatNumber(limit)}`}`}
    >
      <path class="grid" d="M0 0h300M0 50h300M0 100h300" />
      {usage.map((day, index) => (
        <path
          class={limit !== null && amountOf(bars, day) >= limit ? 'day full' : 'day'}
          d={`M${index * 10} 0h10v100h-10z`}
        >
          <title>{[dateText(day.day), ...bars.map(([, name, amount]) => `${name}: ${amount(day)}`)].join(', ')}</title>
        </path>
      ))}
      {bars.map(([kind, , amount]) => {
        const paths = usage.map((day, index) => {
          const from = heights[index] ?? 0;
          const to = from + amount(day);
          heights[index] = to;
          return to === from ? '' : `M${index * 10 + 1.5} ${toY(from, top)}V${toY(to, top)}h7V${toY(from, top)}z`;
        });
        return <path class={`fill ${kind}`} d={paths.join('')} />;
      })}
      {limit !== null && <path class="limit" d={`M0 ${toY(limit, top)}h300`} />}
    </svg>
  );
}

const toY = (amount: number, top: number) => Math.round(100 - (amount / top) * 100);

/** A busy day has at least this many writes: a key with one write a day is not drawn at full height. */
const MIN_TOP = 10;

/** The writes of each day as small bars, scaled to the key's own maximum, and their sum and minutes as numbers. */
export function SmallChart({ usage }: { usage: Usage }) {
  const [sum, maximum] = [recordsOf(usage), Math.max(0, ...usage.map(recordsOfDay))];
  const time = usage.reduce((total, { minutes }) => total + minutes, 0);
  // Lines as wide as bars: a list has thousands of them.
  const bars = usage.map((day, index) =>
    recordsOfDay(day) > 0 ? `M${index} 100V${Math.min(98, toY(recordsOfDay(day), Math.max(MIN_TOP, maximum)))}` : '',
  );
  const label =
    sum === 0
      ? `No writes in ${usage.length} days`
      : `${counted(sum, 'write')} in ${usage.length} days, at most ${formatNumber(maximum)} a day`;
  return (
    <>
      <span class={sum === 0 ? 'sum dash' : 'sum'}>{formatNumber(sum)}</span>
      <svg viewBox={`-.5 0 ${usage.length} 100`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path class="fill note" stroke-width=".7" d={bars.join('')} />
      </svg>
      {time > 0 && <span class="minor">{formatNumber(time)} min</span>}
    </>
  );
}

/** The next number that is a power of ten times 1, 2, 4 or 6. */
function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return power * ([1, 2, 4, 6, 10].find((factor) => factor * power >= number) ?? 10);
}
