// What stands below a kernel's time: its roofline, how it fills the SMs, and each pipe's time.
import { IntervalBars } from '../charts/bars';
import { type Roof, Roofline } from '../charts/roofline';
import { WaveGrid } from '../charts/waves';
import type { KernelForecast, Launch, Resources } from '../documents';
import { Figure } from '../figure';
import { bytes, grouped, microseconds, operations, operationsPerSecond, percent, threeDigits } from '../format';
import { Fact } from '../parts';
import { type Column, figure } from '../table';
import { type WaveRow, wavesOf } from '../waves';

// Rates are the time turned over; a launch's own bound, the whole kernel's interval and ceiling.
function roofOf(forecast: KernelForecast, index: number): Roof | undefined {
  const launch = forecast.breakdown[Math.min(index, forecast.breakdown.length - 1)];
  const r = launch?.roofline;
  if (!launch || !r) return undefined;
  const at = (us: number) => (us > 0 ? (r.reached_ops_per_s * forecast.latency_us) / us : r.reached_ops_per_s);
  return {
    name: forecast.gpu,
    intensity: r.ops_per_byte,
    peak: r.peak_ops_per_s,
    feed: r.feed_bytes_per_s,
    level: r.feed === 'dram' ? 'DRAM' : 'L2',
    reached: r.reached_ops_per_s,
    interval: [at(forecast.interval_us[1]), at(forecast.interval_us[0])],
    tuned: at(forecast.ceiling_us),
    bound: launch.bound_us > 0 ? (r.reached_ops_per_s * launch.latency_us) / launch.bound_us : r.reached_ops_per_s,
  };
}

const roofColumns: Column<Roof>[] = [
  { name: 'GPU', value: (row) => row.name },
  figure('operations a byte', (row) => row.intensity, threeDigits),
  { name: 'of', value: (row) => row.level },
  figure('reached (op/s)', (row) => row.reached, operationsPerSecond),
  figure('80 % low (op/s)', (row) => row.interval[0], operationsPerSecond),
  figure('high (op/s)', (row) => row.interval[1], operationsPerSecond),
  figure('well tuned (op/s)', (row) => row.tuned, operationsPerSecond),
  figure('bound (op/s)', (row) => row.bound, operationsPerSecond),
  figure('peak (op/s)', (row) => row.peak, operationsPerSecond),
];

export function Rooflines({ forecasts, index }: { forecasts: KernelForecast[]; index: number }) {
  const roofs = forecasts.flatMap((forecast) => roofOf(forecast, index) ?? []);
  if (roofs.length === 0) return <p class="quiet">This kernel computes or moves nothing that a roofline could show.</p>;
  return (
    <Figure
      title="Roofline"
      file="roofline"
      columns={roofColumns}
      rows={roofs}
      note="A dot is the forecast with its 80 % interval, the dash what a well-tuned kernel reaches, the tip the bound. The slope is the memory that feeds the kernel, the flat part the pipe it computes on."
    >
      <Roofline roofs={roofs} label="Operations a second against operations a byte" />
    </Figure>
  );
}

const waveColumns = (sms: number): Column<WaveRow>[] => [
  { name: 'row', value: (row) => row.name },
  figure('SMs busy', (row) => row.busy, threeDigits),
  figure('share', (row) => row.busy / sms, percent),
];

export function Filling({ launch, sms, gpu }: { launch: Launch; sms: number; gpu: string }) {
  if (sms <= 0) return null;
  const waves = wavesOf(launch, sms),
    { plan, schedule } = launch;
  return (
    <Figure
      title={`How ${launch.name} fills ${gpu}`}
      file={`waves-${launch.name}`}
      rows={waves.rows}
      columns={waveColumns(sms)}
      note={
        <>
          {schedule?.dispatch ?? 'waves'}
          {schedule
            ? `; ${schedule.sms_used} of ${sms} SMs used, the busiest has ${schedule.tasks_busiest} task${schedule.tasks_busiest === 1 ? '' : 's'}, balance ${percent(schedule.balance)}`
            : ''}
          . Plan {plan.known ? 'by the library’s published logic' : 'inferred'}.
        </>
      }
    >
      <dl class="facts">
        {plan.tile[0] > 0 && <Fact name="tile">{plan.tile.join(' × ')}</Fact>}
        <Fact name="CTAs" more={`of ${plan.threads} threads`}>
          {grouped(plan.ctas)}
        </Fact>
        {plan.split > 1 && <Fact name="split">{plan.split}</Fact>}
        <Fact name="CTAs an SM">{plan.ctas_per_sm}</Fact>
        <Fact name={waves.unit} more={`the last ${percent(waves.lastShare)} full`}>
          {grouped(waves.of)}
        </Fact>
      </dl>
      <WaveGrid waves={waves} sms={sms} label={`SMs busy, wave by wave, of ${launch.name} on ${gpu}`} />
    </Figure>
  );
}

const pipes: [keyof Resources, string][] = [
  ['tensor', 'tensor'],
  ['vector', 'vector'],
  ['xu', 'xu'],
  ['shared_memory', 'shared memory'],
  ['l2', 'L2'],
  ['dram', 'DRAM'],
  ['latency', 'latency'],
  ['launch', 'launch'],
];
interface Pipe {
  key: keyof Resources;
  name: string;
  forecast: number;
  peak: number;
  demand: string;
}

const pipeColumns: Column<Pipe>[] = [
  { name: 'resource', value: (row) => row.name },
  { name: 'work', value: (row) => row.demand },
  figure('as forecast (µs)', (row) => row.forecast, microseconds),
  figure('unavoidable (µs)', (row) => (row.peak > 0 ? row.peak : undefined), microseconds),
];

function demandOf(launch: Launch, key: keyof Resources): string {
  const d = launch.demand;
  const all: Partial<Record<keyof Resources, string>> = {
    tensor: operations(d.tensor_ops),
    vector: operations(d.vector_ops),
    xu: operations(d.xu_ops),
    shared_memory: bytes(d.shared_bytes),
    l2: bytes(d.l2_load_bytes + d.l2_store_bytes),
    dram: bytes(d.dram_load_bytes + d.dram_store_bytes),
  };
  return all[key] ?? '';
}

export function Pipes({ launch, gpu }: { launch: Launch; gpu: string }) {
  const rows: Pipe[] = pipes
    .map(([key, name]) => ({
      key,
      name,
      forecast: launch.forecast_us[key],
      peak: launch.peak_us[key],
      demand: demandOf(launch, key),
    }))
    .filter((row) => row.forecast > 0 || row.peak > 0);
  return (
    <Figure
      title={`Each pipe’s time, ${launch.name} on ${gpu}`}
      file={`pipes-${launch.name}`}
      rows={rows}
      columns={pipeColumns}
      note="Resources work side by side: their times overlap and do not add up. The line in a bar is what cannot be avoided at the peak rate."
    >
      <IntervalBars
        label="Time of each resource"
        text={microseconds}
        title="time"
        bars={rows.map((row) => ({
          name: row.name,
          value: row.forecast,
          bound: row.peak,
          colour: row.key === launch.limited_by ? 1 : 0,
          note: row.key === launch.limited_by ? 'limits' : '',
          more: [row.demand, row.peak > 0 ? `unavoidable ${microseconds(row.peak)}` : ''].filter(Boolean),
        }))}
      />
    </Figure>
  );
}
