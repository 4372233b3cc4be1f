// Latency against load: a sweep of simulations with the objectives shaded.
import { Lines } from '../charts/lines';
import { Figure } from '../figure';
import { milliseconds, threeDigits } from '../format';
import type { Column } from '../table';
import { type Simulation, type ServedLoad, type Statistic, type Time, objectivesOf, plain, times, valueOf } from './serving';

type Row = ServedLoad & { value: number };

function timeColumns(time: Time, at: Statistic): Column<Row>[] {
  const of = (row: Row, which: 'metrics' | 'fast' | 'slow') => row[which]?.[`${at}_${time}_ms`];
  const text = (value: number | undefined) => (value === undefined ? '–' : milliseconds(value));
  return [
    { name: `${at} ${time} ms`, value: (row) => of(row, 'metrics'), text: (row) => text(of(row, 'metrics')), number: true },
    { name: `${time} low ms`, value: (row) => of(row, 'fast'), text: (row) => text(of(row, 'fast')), number: true },
    { name: `${time} high ms`, value: (row) => of(row, 'slow'), text: (row) => text(of(row, 'slow')), number: true },
  ];
}

const throughputColumns: Column<Row>[] = [
  { name: 'output tokens/s', value: (row) => row.metrics.output_throughput, text: (row) => threeDigits(row.metrics.output_throughput), number: true },
  { name: 'tokens/s low', value: (row) => row.slow?.output_throughput, text: (row) => (row.slow ? threeDigits(row.slow.output_throughput) : '–'), number: true },
  { name: 'tokens/s high', value: (row) => row.fast?.output_throughput, text: (row) => (row.fast ? threeDigits(row.fast.output_throughput) : '–'), number: true },
  { name: 'requests/s', value: (row) => row.metrics.request_throughput, text: (row) => threeDigits(row.metrics.request_throughput), number: true },
  { name: 'requests/s within the SLO', value: (row) => row.metrics.request_goodput, text: (row) => (row.metrics.request_goodput === null ? '–' : threeDigits(row.metrics.request_goodput)), number: true },
  { name: 'cache peak', value: (row) => row.metrics.cache_peak, text: (row) => `${(row.metrics.cache_peak * 100).toFixed(0)} %`, number: true },
];

const ends = (low: number | undefined, high: number | undefined): readonly [number, number] | undefined =>
  low === undefined || high === undefined ? undefined : [low, high];

export function LoadCharts({ run, at, slo }: { run: Simulation; at: Statistic; slo: string }) {
  const rows: Row[] = run.loads.map((load) => ({ ...load, value: valueOf(load) }));
  const swept = rows[0]?.load.split(' ')[0] ?? 'rate';
  const xTitle = swept === 'concurrency' ? 'requests in flight' : 'requests a second';
  const loadColumn: Column<Row> = { name: 'load', value: (row) => row.load };
  const limits = objectivesOf(slo);
  const steep = (values: number[]) => Math.max(...values) > 20 * Math.min(...values.filter((value) => value > 0));
  return (
    <>
      {times.map(({ id, title, short }) => {
        const points = rows.map((row) => ({
          x: row.value, y: row.metrics[`${at}_${id}_ms`], interval: ends(row.fast?.[`${at}_${id}_ms`], row.slow?.[`${at}_${id}_ms`]),
        }));
        const limit = limits[id];
        return (
          <Figure title={`${title} against load`} file={`tilecast-${id}-load`} columns={[loadColumn, ...timeColumns(id, at)]} rows={rows}>
            <Lines label={`${title} (${at}) against load`} lines={[{ name: `${short} ${at}`, points, colour: times.findIndex((one) => one.id === id) }]}
              xText={plain} yText={milliseconds} xTitle={xTitle} yTitle={`${short}, ${at}`} logX base={2} logY={steep(points.map((point) => point.y))}
              limits={limit === undefined ? [] : [{ y: limit, name: `objective ${milliseconds(limit)}` }]} height={230} />
          </Figure>
        );
      })}
      <Figure title="Throughput against load" file="tilecast-throughput-load" columns={[loadColumn, ...throughputColumns]} rows={rows}>
        <Lines label="Output tokens a second against load" xText={plain} yText={plain} xTitle={xTitle} yTitle="output tokens/s" logX base={2} height={230}
          lines={[{ name: 'output tokens/s', colour: 3, points: rows.map((row) => ({
            x: row.value, y: row.metrics.output_throughput, interval: ends(row.slow?.output_throughput, row.fast?.output_throughput),
            more: row.metrics.request_goodput === null ? [] : [`${threeDigits(row.metrics.request_goodput)} requests/s within the SLO`],
          })) }]} />
      </Figure>
    </>
  );
}
