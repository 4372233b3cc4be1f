// One kernel: its time on cards, its roofline, how it fills the SMs, and what each pipe takes.
import { useMemo } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Argument, Family, Query } from '../api';
import { IntervalBars } from '../charts/bars';
import { type Roof, Roofline } from '../charts/roofline';
import { WaveGrid } from '../charts/waves';
import type { KernelForecast, Launch, Resources } from '../documents';
import { Figure } from '../figure';
import { bytes, grouped, microseconds, operations, operationsPerSecond, percent, threeDigits } from '../format';
import { Control } from '../forms/control';
import { ArgumentForm } from '../forms/form';
import { GpusPicker } from '../forms/gpus';
import { keyOf, queryOf } from '../forms/query';
import { number } from '../link';
import { Busy, Commands, ErrorNote, Fact, Inputs, Seen, Tabs } from '../parts';
import { useLinkState } from '../state';
import type { Column } from '../table';
import { wavesOf } from '../waves';

export const fields = { card: number(0), launch: number(0) };
export const opening = { family: 'gemm', m: '4096', n: '4096', k: '4096', gpu: 'A100-SXM-80GB,H100-SXM,B200' };

// "--m 4096 --n 4096 --causal": an example as values of its dimensions.
export function valuesOfExample(example: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [, name = '', value] of example.matchAll(/--([\w-]+)(?:[ =](?!--)(\S+))?/g)) values[name.replace(/-/g, '_')] = value ?? 'true';
  return values;
}

function FamilyForm({ families, args, onFamily, onChange, error }:
  { families: Family[]; args: Record<string, string>; onFamily: (family: Family) => void; onChange: (values: Record<string, string>) => void; error: Parameters<typeof Control>[0]['error'] }) {
  const family = families.find((one) => one.name === args.family);
  const choice: Argument = { name: 'family', kind: 'choice', help: family?.summary ?? '', unit: '', example: '', default: '', choices: families.map((one) => one.name), aliases: [], required: true };
  const needed = family?.dims.filter((dim) => dim.required) ?? [], others = family?.dims.filter((dim) => !dim.required) ?? [];
  const show = (dim: Argument) => <Control key={`${args.family} ${dim.name}`} argument={dim} label={dim.name} exact value={args[keyOf(dim)] ?? ''} error={error} onChange={(text) => onChange({ [keyOf(dim)]: text })} />;
  const shown = others.filter((dim) => (args[keyOf(dim)] ?? '') !== ''), folded = others.filter((dim) => !shown.includes(dim));
  return (
    <>
      <Control argument={choice} value={args.family ?? ''} label="kernel family" onChange={(name) => {
        const picked = families.find((one) => one.name === name);
        if (picked) onFamily(picked);
      }} />
      <div class="pair">{[...needed, ...shown].map(show)}</div>
      {folded.length > 0 && <details class="folded"><summary>Other dimensions</summary>{folded.map(show)}</details>}
    </>
  );
}

export function Kernel() {
  const [{ args, own }, change] = useLinkState('kernel', fields, opening);
  const question = useQuestion('kernel');
  const family = question?.families?.find((one) => one.name === args.family);
  const declared = useMemo(() => [...(question?.arguments ?? []), ...(family?.dims ?? [])], [question, family]);
  const query: Query = useMemo(() => queryOf(args, declared), [args, declared]);
  const { answer, error, busy } = useAnswer<KernelForecast[]>('kernel', query.family && query.gpu ? query : undefined);
  // Another family: its own example in place of the old dimensions, cards and settings kept.
  const pickFamily = (picked: Family) => {
    const cleared = Object.fromEntries((family?.dims ?? []).map((dim) => [keyOf(dim), '']));
    change({ args: { ...cleared, family: picked.name, ...valuesOfExample(picked.example) }, own: { launch: 0 } });
  };
  return (
    <div class="split">
      <Inputs label="Which kernel" summary={`${args.family ?? ''} on ${args.gpu ?? ''}`}>
        {question?.families && <FamilyForm families={question.families} args={args} onFamily={pickFamily} onChange={(values) => change({ args: values })} error={error} />}
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu }, own: { card: 0 } })} />
        <ArgumentForm declared={question?.arguments} values={args} onChange={(values) => change({ args: values })} error={error} main={['dtype', 'warmth', 'runtime']} skip={['gpu']} />
      </Inputs>
      <div class={busy && answer ? 'results stale' : 'results'} aria-busy={busy}>
        <ErrorNote error={error} />
        {!answer && <Busy busy={busy} />}
        {answer && <Results forecasts={answer} own={own} change={change} />}
        <Commands question={question} query={query} flags={['--explain']} />
      </div>
    </div>
  );
}

const columns: Column<KernelForecast>[] = [
  { name: 'GPU', value: (row) => row.gpu },
  { name: 'forecast (µs)', number: true, value: (row) => row.latency_us, text: (row) => microseconds(row.latency_us) },
  { name: '80 % low (µs)', number: true, value: (row) => row.interval_us[0], text: (row) => microseconds(row.interval_us[0]) },
  { name: 'high (µs)', number: true, value: (row) => row.interval_us[1], text: (row) => microseconds(row.interval_us[1]) },
  { name: 'well tuned (µs)', number: true, value: (row) => row.ceiling_us, text: (row) => microseconds(row.ceiling_us) },
  { name: 'bound (µs)', number: true, value: (row) => row.bound_us, text: (row) => microseconds(row.bound_us) },
  { name: 'efficiency', number: true, value: (row) => row.efficiency, text: (row) => percent(row.efficiency) },
  { name: 'limited by', value: (row) => row.limited_by },
  { name: 'seen', value: (row) => row.standing },
];

interface ResultsProps {
  forecasts: KernelForecast[];
  own: { card: number; launch: number };
  change: (given: { own: Partial<{ card: number; launch: number }> }) => void;
}

function Results({ forecasts, own, change }: ResultsProps) {
  const card = Math.min(own.card, forecasts.length - 1), shown = forecasts[card]!;
  const index = Math.min(own.launch, shown.breakdown.length - 1), launch = shown.breakdown[index]!;
  return (
    <>
      <Figure title={`${shown.kernel.family}, ${shown.kernel.dtype}`} file={`kernel-${shown.kernel.family}`} columns={columns} rows={forecasts}
        note="Whiskers are 80 % intervals; the light line in a bar is the bound that no kernel beats.">
        <IntervalBars label="Time of the kernel by card" text={microseconds} title="time" picked={card} onPick={(picked) => change({ own: { card: picked, launch: 0 } })}
          bars={forecasts.map((row) => ({ name: row.gpu, value: row.latency_us, interval: [row.interval_us[0], row.interval_us[1]], bound: row.bound_us, note: row.standing,
            more: [`a well-tuned kernel reaches ${microseconds(row.ceiling_us)}, no kernel beats ${microseconds(row.bound_us)}`, `limited by ${row.limited_by}`] }))} />
        <dl class="facts">
          <Fact name={shown.gpu} more={<Seen seen={shown.standing === 'seen' ? 'yes' : shown.standing === 'unseen' ? 'no' : shown.standing} />}>{microseconds(shown.latency_us)}</Fact>
          <Fact name="a well-tuned kernel reaches">{microseconds(shown.ceiling_us)}</Fact>
          <Fact name="no kernel beats" more={`${percent(shown.efficiency)} reached`}>{microseconds(shown.bound_us)}</Fact>
          <Fact name="limited by">{shown.limited_by}</Fact>
        </dl>
      </Figure>
      <Rooflines forecasts={forecasts} index={index} />
      {shown.breakdown.length > 1 && (
        <Tabs label="Launch" picked={String(index)} onPick={(id) => change({ own: { launch: Number(id) } })}
          tabs={shown.breakdown.map((one, i) => ({ id: String(i), title: `${one.name} ${microseconds(one.latency_us)}` }))} />
      )}
      <div class="columns">
        <Filling launch={launch} sms={shown.sms ?? 0} gpu={shown.gpu} />
        <Pipes launch={launch} gpu={shown.gpu} />
      </div>
    </>
  );
}

// Rates are the time turned over; a launch's own bound, the whole kernel's interval and ceiling.
function roofOf(forecast: KernelForecast, index: number): Roof | undefined {
  const launch = forecast.breakdown[Math.min(index, forecast.breakdown.length - 1)];
  const r = launch?.roofline;
  if (!launch || !r) return undefined;
  const at = (us: number) => (us > 0 ? (r.reached_ops_per_s * forecast.latency_us) / us : r.reached_ops_per_s);
  return {
    name: forecast.gpu, intensity: r.ops_per_byte, peak: r.peak_ops_per_s, feed: r.feed_bytes_per_s, level: r.feed === 'dram' ? 'DRAM' : 'L2', reached: r.reached_ops_per_s,
    interval: [at(forecast.interval_us[1]), at(forecast.interval_us[0])], tuned: at(forecast.ceiling_us), bound: launch.bound_us > 0 ? (r.reached_ops_per_s * launch.latency_us) / launch.bound_us : r.reached_ops_per_s,
  };
}

const roofColumns: Column<Roof>[] = [
  { name: 'GPU', value: (row) => row.name },
  { name: 'operations a byte', number: true, value: (row) => row.intensity, text: (row) => threeDigits(row.intensity) },
  { name: 'of', value: (row) => row.level },
  { name: 'reached (op/s)', number: true, value: (row) => row.reached, text: (row) => operationsPerSecond(row.reached) },
  { name: '80 % low (op/s)', number: true, value: (row) => row.interval[0], text: (row) => operationsPerSecond(row.interval[0]) },
  { name: 'high (op/s)', number: true, value: (row) => row.interval[1], text: (row) => operationsPerSecond(row.interval[1]) },
  { name: 'well tuned (op/s)', number: true, value: (row) => row.tuned, text: (row) => operationsPerSecond(row.tuned) },
  { name: 'bound (op/s)', number: true, value: (row) => row.bound, text: (row) => operationsPerSecond(row.bound) },
  { name: 'peak (op/s)', number: true, value: (row) => row.peak, text: (row) => operationsPerSecond(row.peak) },
];

function Rooflines({ forecasts, index }: { forecasts: KernelForecast[]; index: number }) {
  const roofs = forecasts.flatMap((forecast) => roofOf(forecast, index) ?? []);
  if (roofs.length === 0) return <p class="quiet">This kernel computes or moves nothing that a roofline could show.</p>;
  return (
    <Figure title="Roofline" file="roofline" columns={roofColumns} rows={roofs}
      note="A dot is the forecast with its 80 % interval, the dash what a well-tuned kernel reaches, the tip the bound. The slope is the memory that feeds the kernel, the flat part the pipe it computes on.">
      <Roofline roofs={roofs} label="Operations a second against operations a byte" />
    </Figure>
  );
}

function Filling({ launch, sms, gpu }: { launch: Launch; sms: number; gpu: string }) {
  if (sms <= 0) return null;
  const waves = wavesOf(launch, sms), { plan, schedule } = launch;
  return (
    <Figure title={`How ${launch.name} fills ${gpu}`} file={`waves-${launch.name}`} rows={waves.rows}
      columns={[{ name: 'row', value: (row) => row.name }, { name: 'SMs busy', number: true, value: (row) => row.busy, text: (row) => threeDigits(row.busy) }, { name: 'share', number: true, value: (row) => row.busy / sms, text: (row) => percent(row.busy / sms) }]}
      note={<>{schedule?.dispatch ?? 'waves'}{schedule ? `; ${schedule.sms_used} of ${sms} SMs used, the busiest has ${schedule.tasks_busiest} task${schedule.tasks_busiest === 1 ? '' : 's'}, balance ${percent(schedule.balance)}` : ''}. Plan {plan.known ? 'by the library’s published logic' : 'inferred'}.</>}>
      <dl class="facts">
        {plan.tile[0] > 0 && <Fact name="tile">{plan.tile.join(' × ')}</Fact>}
        <Fact name="CTAs" more={`of ${plan.threads} threads`}>{grouped(plan.ctas)}</Fact>
        {plan.split > 1 && <Fact name="split">{plan.split}</Fact>}
        <Fact name="CTAs an SM">{plan.ctas_per_sm}</Fact>
        <Fact name={waves.unit} more={`the last ${percent(waves.lastShare)} full`}>{grouped(waves.of)}</Fact>
      </dl>
      <WaveGrid waves={waves} sms={sms} label={`SMs busy, wave by wave, of ${launch.name} on ${gpu}`} />
    </Figure>
  );
}

const pipes: [keyof Resources, string][] = [['tensor', 'tensor'], ['vector', 'vector'], ['xu', 'xu'], ['shared_memory', 'shared memory'], ['l2', 'L2'], ['dram', 'DRAM'], ['latency', 'latency'], ['launch', 'launch']];
interface Pipe {
  key: keyof Resources;
  name: string;
  forecast: number;
  peak: number;
  demand: string;
}

function demandOf(launch: Launch, key: keyof Resources): string {
  const d = launch.demand;
  const all: Partial<Record<keyof Resources, string>> = {
    tensor: operations(d.tensor_ops), vector: operations(d.vector_ops), xu: operations(d.xu_ops), shared_memory: bytes(d.shared_bytes), l2: bytes(d.l2_load_bytes + d.l2_store_bytes), dram: bytes(d.dram_load_bytes + d.dram_store_bytes),
  };
  return all[key] ?? '';
}

function Pipes({ launch, gpu }: { launch: Launch; gpu: string }) {
  const rows: Pipe[] = pipes.map(([key, name]) => ({ key, name, forecast: launch.forecast_us[key], peak: launch.peak_us[key], demand: demandOf(launch, key) })).filter((row) => row.forecast > 0 || row.peak > 0);
  return (
    <Figure title={`Each pipe’s time, ${launch.name} on ${gpu}`} file={`pipes-${launch.name}`} rows={rows}
      columns={[{ name: 'resource', value: (row) => row.name }, { name: 'work', value: (row) => row.demand }, { name: 'as forecast (µs)', number: true, value: (row) => row.forecast, text: (row) => microseconds(row.forecast) }, { name: 'unavoidable (µs)', number: true, value: (row) => row.peak, text: (row) => (row.peak > 0 ? microseconds(row.peak) : '–') }]}
      note="Resources work side by side: their times overlap and do not add up. The light line is what cannot be avoided at the peak rate.">
      <IntervalBars label="Time of each resource" text={microseconds} title="time"
        bars={rows.map((row) => ({ name: row.name, value: row.forecast, bound: row.peak, colour: row.key === launch.limited_by ? 1 : 0, note: row.key === launch.limited_by ? 'limits' : '', more: [row.demand, row.peak > 0 ? `unavoidable ${microseconds(row.peak)}` : ''].filter(Boolean) }))} />
    </Figure>
  );
}
