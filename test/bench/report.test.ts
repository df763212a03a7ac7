import { expect, test } from 'vitest';
import { type Run, renderResults } from './report.ts';
import { evaluate, FLOOR } from './targets.ts';

const LOADED = 16;

/** A run of seven rounds with a floor and one scenario that handles twice as many requests. */
function sampleRun(): Run {
  const series = [1, LOADED].flatMap((connections) =>
    [FLOOR, 'time entry, uncached key'].map((name, index) => ({
      name,
      connections,
      slices: [900, 950, 1000, 1000, 1000, 1050, 1100].map((perSecond) => ({
        requests: 100,
        perSecond: perSecond * (index + 1),
        p50: 1.5,
        cpu: 1 / (index + 1),
      })),
    })),
  );
  return {
    date: '2026-01-31',
    processor: '2 cores of X',
    versions: { node: 'v24.0.0', workerd: '1.20260101.0' },
    loadBefore: 0.25,
    rounds: 7,
    sliceMs: 800,
    large: { entries: 1_000_000, keys: 10_000, bytes: 488_000_000 },
    seconds: 378,
    note: 'nothing else ran',
    loaded: LOADED,
    series,
    verdicts: evaluate(series, LOADED),
    timings: [{ cause: 'unknown', samples: 4_000, median: 1.6314, cliffsDelta: 0 }],
  };
}

test('a report contains the facts of the run, a table for each number of connections, the targets and the timing of the 401', () => {
  const report = renderResults(sampleRun());
  expect(report).toContain('- Large database: 1,000,000 time entries, about 10,000 keys, 488 MB\n');
  expect(report.indexOf('## 16 connections')).toBeLessThan(report.indexOf('## 1 connection\n'));
  expect(report).toContain(
    '| time entry, uncached key | 2,000 (1,800–2,200) | 2.00 (2.00–2.00) | 1.50 (1.50–1.50) | 0.50 (0.50–0.50) |',
  );
  expect(report).toContain('| time entry, uncached key : floor chain, requests/s ≥ 0.9 | 2.00 [2.00, 2.00] | met |');
  expect(report).toContain('| unknown | 4,000 | 1.631 | 0.000 |');
});
