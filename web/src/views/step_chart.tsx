// Steps of several cards side by side: bars with intervals, the seen mark and the limiting resource.
import { IntervalBars } from '../charts/bars';
import { type Step, variantNames } from '../documents';
import { Figure } from '../figure';
import { bytes, grouped, interval, milliseconds, percent, seenMark, seenText, times } from '../format';
import { Tabs } from '../parts';
import { type Column, figure } from '../table';

export type Measure = 'time' | 'rate';
type Row = Step & { label: string; speed: number };

const memoryOf = (row: Step) => row.memory_bytes ?? row.stages?.[0]?.memory_bytes;

export const stepColumns: Column<Row>[] = [
  { name: 'GPU', value: (row) => row.label },
  { name: 'engine', value: (row) => row.engine },
  { name: 'format', value: (row) => row.dtype },
  figure('step (ms)', (row) => row.step_ms, milliseconds),
  figure('80 % interval low (ms)', (row) => row.interval_ms[0], milliseconds),
  figure('high (ms)', (row) => row.interval_ms[1], milliseconds),
  figure('bound (ms)', (row) => row.bound_ms, milliseconds),
  figure('tokens/s', (row) => row.tokens_per_second, grouped),
  figure('MFU', (row) => row.mfu, percent),
  { name: 'limited by', value: (row) => (row.host_bound ? 'host' : row.limited_by) },
  figure('memory (bytes)', (row) => memoryOf(row)?.total, bytes),
  { name: 'fits', value: (row) => memoryOf(row)?.fits, text: (row) => (memoryOf(row)?.fits === false ? 'no' : 'yes') },
  figure('speed', (row) => row.speed, times),
  { name: 'seen', value: (row) => seenText(row.seen) },
];

export interface StepChartProps {
  steps: Step[]; // those that can run
  item: string; // what is counted a second: tokens
  measure: Measure;
  onMeasure: (measure: Measure) => void;
  picked: number;
  onPick: (index: number) => void;
}

export function StepChart({ steps, item, measure, onMeasure, picked, onPick }: StepChartProps) {
  const names = variantNames(steps);
  const rows: Row[] = steps.map((step, i) => ({ ...step, label: names[i]!, speed: (steps[0]?.step_ms ?? 0) / step.step_ms }));
  const rate = measure === 'rate';
  // A rate's interval is that of the time, turned over.
  const bars = rows.map((row) => ({
    name: row.label,
    value: rate ? row.tokens_per_second : row.step_ms,
    interval: (rate
      ? [(row.tokens_per_second * row.step_ms) / row.interval_ms[1], (row.tokens_per_second * row.step_ms) / row.interval_ms[0]]
      : [row.interval_ms[0], row.interval_ms[1]]) as [number, number],
    ...(rate ? {} : { bound: row.bound_ms }),
    faint: memoryOf(row)?.fits === false,
    note: [seenMark(row.seen), memoryOf(row)?.fits === false ? 'does not fit' : ''].filter(Boolean).join(', '),
    more: [
      rate
        ? `step ${milliseconds(row.step_ms)}, ${interval([row.interval_ms[0], row.interval_ms[1]], milliseconds)}`
        : `${grouped(row.tokens_per_second)} ${item}/s, no run is faster than ${milliseconds(row.bound_ms)}`,
      `limited by ${row.host_bound ? 'the host' : (row.limited_by ?? 'nothing')}, ${times(row.speed)} the speed of ${rows[0]!.label}`,
    ],
  }));
  return (
    <Figure
      title={rate ? `${item[0]!.toUpperCase()}${item.slice(1)} a second` : 'Time of a step'}
      file={`forecast-${steps[0]?.model ?? 'step'}`}
      columns={stepColumns}
      rows={rows}
      note={
        <>
          Whiskers are 80 % intervals{rate ? '' : '; the line in a bar is the bound that no run beats'}. Pick a card to see
          its breakdown and memory below.
        </>
      }
    >
      <Tabs
        label="Measure"
        picked={measure}
        onPick={onMeasure}
        tabs={[
          { id: 'time', title: 'Time' },
          { id: 'rate', title: 'Throughput' },
        ]}
      />
      <IntervalBars
        bars={bars}
        text={rate ? grouped : milliseconds}
        title={rate ? `${item}/s` : 'time of a step'}
        picked={picked}
        onPick={onPick}
        label={rate ? `${item} a second by card` : 'time of a step by card'}
      />
    </Figure>
  );
}
