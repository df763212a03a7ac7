import { forEachKind, RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from '../../../domain/record-kinds.ts';
import { type DayUsage, recordsOfDay, USAGE_DAYS, type Usage } from '../../../services/keys/key-usage.ts';
import { counted, formatNumber, Table, type TableColumn } from './components.tsx';
import { dateText } from './time.tsx';

const LABELS = forEachKind((kind) => RECORD_KINDS[kind].scopeLabel);

const COLUMNS: readonly TableColumn<DayUsage>[] = [
  ['Day', ({ day }) => dateText(day)],
  ...RECORD_KIND_NAMES.map((kind): TableColumn<DayUsage> => [LABELS[kind], ({ records }) => records[kind]]),
  ['Minutes', ({ minutes }) => minutes],
];

interface Props {
  usage: Usage;
  /** The key's own daily limits; null where there is none. */
  limits: { records: number | null; minutes: number | null };
  /** What the key can write. */
  kinds: readonly RecordKind[];
}

/** The records of a key on each of 30 days: charts, and the same numbers as a table. */
export function UsageChart({ usage, limits, kinds }: Props) {
  const total = (kind: RecordKind) => usage.reduce((sum, { records }) => sum + records[kind], 0);
  const minutes = usage.reduce((sum, day) => sum + day.minutes, 0);
  return (
    <section class="card" aria-labelledby="use">
      <h2 id="use">Last {USAGE_DAYS} days</h2>
      <div class="charts">
        <Chart
          title="Writes per day"
          usage={usage}
          parts={kinds.map((kind) => [kind, (day) => day.records[kind]])}
          limit={limits.records}
          legend={kinds.map((kind) => [kind, `${LABELS[kind]}: ${formatNumber(total(kind))}`])}
        />
        {kinds.includes('time_entry') && (
          <Chart
            title="Minutes per day"
            usage={usage}
            parts={[['time_entry', (day) => day.minutes]]}
            limit={limits.minutes}
            legend={[['time_entry', counted(minutes, 'minute')]]}
          />
        )}
      </div>
      <details>
        <summary>Show the numbers</summary>
        <Table
          caption="Use by day"
          columns={COLUMNS}
          rows={usage.filter((day) => recordsOfDay(day) > 0).toReversed()}
        />
      </details>
    </section>
  );
}

const HEIGHT = 100;
const STEP = 10;
const BAR = 7;

interface ChartProps {
  title: string;
  usage: Usage;
  /** The parts of a bar, from below. */
  parts: readonly (readonly [kind: RecordKind, amount: (day: DayUsage) => number])[];
  limit: number | null;
  legend: readonly (readonly [kind: RecordKind, text: string])[];
}

/** Time entries are outlined and notes are filled, so that the chart is readable without colour. */
function Chart({ title, usage, parts, limit, legend }: ChartProps) {
  const sums = usage.map((day) => parts.reduce((sum, [, amount]) => sum + amount(day), 0));
  const maximum = Math.max(0, ...sums);
  // A limit far above all days would flatten the bars.
  const isLimitDrawn = limit !== null && limit <= 3 * maximum;
  const top = roundUp(Math.max(4, maximum, isLimitDrawn ? limit : 0));
  const y = (amount: number) => HEIGHT - (amount / top) * HEIGHT;
  const width = usage.length * STEP;
  const first = usage[0]?.day;
  const last = usage.at(-1)?.day;
  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        {legend.map(([kind, text]) => (
          <span class="legend">
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <path class={`fill ${kind}`} d="M1 1h10v10H1z" />
            </svg>
            {text}
          </span>
        ))}
        {limit !== null && (
          <span class="legend">
            {isLimitDrawn && (
              <svg viewBox="0 0 12 12" aria-hidden="true">
                <path class="limit" d="M0 6h12" />
              </svg>
            )}
            Limit: {formatNumber(limit)}
            {!isLimitDrawn && ', above the chart'}
          </span>
        )}
      </figcaption>
      <div class="plot">
        <div class="scale" aria-hidden="true">
          <span>{formatNumber(top)}</span>
          <span>{formatNumber(top / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: at most ${formatNumber(maximum)}${limit === null ? '' : `, limit ${formatNumber(limit)}`}`}
        >
          <path class="grid" d={`M0 0h${width}M0 ${HEIGHT / 2}h${width}M0 ${HEIGHT}h${width}`} />
          {usage.map((day, index) => {
            let below = 0;
            return parts.map(([kind, amount]) => {
              const from = below;
              below += amount(day);
              if (below === from) return null;
              const [low, high] = [y(from).toFixed(1), y(below).toFixed(1)];
              return <path class={`fill ${kind}`} d={`M${index * STEP + 1.5} ${low}V${high}h${BAR}V${low}z`} />;
            });
          })}
          {isLimitDrawn && <path class="limit" d={`M0 ${y(limit).toFixed(1)}h${width}`} />}
        </svg>
        <div class="days" aria-hidden="true">
          <span>{first && dayLabel(first)}</span>
          <span>{last && dayLabel(last)}</span>
        </div>
      </div>
    </figure>
  );
}

/** The next number that is a power of ten times 1, 2, 4 or 6. */
function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return power * ([1, 2, 4, 6, 10].find((factor) => factor * power >= number) ?? 10);
}

/** A calendar date in words: `21 Nov`. */
const dayLabel = (day: string) =>
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(Date.parse(day));
