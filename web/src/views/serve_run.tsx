// One load over time: steps, queue and cache of a simulated run.
import { Lines } from '../charts/lines';
import { Timeline } from '../charts/timeline';
import { Figure } from '../figure';
import { interval, joules, milliseconds, percent, seconds, threeDigits } from '../format';
import { Fact } from '../parts';
import type { Column } from '../table';
import { type ServedLoad, type ServedStep, type Simulation, type Slice, type Statistic, plain, times } from './serving';

export function RunFacts({ load, at }: { load: ServedLoad; at: Statistic }) {
  const { metrics, fast, slow } = load;
  const tokens = metrics.energy?.output_token_j;
  return (
    <dl class="facts">
      {times.map(({ id, short }) => {
        const name = `${at}_${id}_ms` as const;
        return (
          <Fact name={`${short} ${at}`} more={fast && slow ? interval([fast[name], slow[name]], milliseconds) : undefined}>{milliseconds(metrics[name])}</Fact>
        );
      })}
      <Fact name="output tokens/s" more={fast && slow ? interval([slow.output_throughput, fast.output_throughput], threeDigits) : undefined}>{threeDigits(metrics.output_throughput)}</Fact>
      <Fact name="requests" more={metrics.refused + metrics.cancelled > 0 ? `${metrics.refused} refused, ${metrics.cancelled} cancelled` : undefined}>{metrics.completed}</Fact>
      {metrics.request_goodput !== null && <Fact name="within the SLO">{threeDigits(metrics.request_goodput)} /s</Fact>}
      <Fact name="cache peak" more={metrics.preemptions > 0 ? `${metrics.preemptions} preemptions` : undefined}>{percent(metrics.cache_peak)}</Fact>
      <Fact name="GPUs busy">{percent(metrics.gpu_busy)}</Fact>
      {tokens !== null && tokens !== undefined && <Fact name="energy of a token">{joules(tokens)}</Fact>}
    </dl>
  );
}

const sliceColumns: Column<Slice>[] = [
  { name: 'time s', value: (row) => row.time_s, text: (row) => threeDigits(row.time_s), number: true },
  { name: 'running', value: (row) => row.running, text: (row) => threeDigits(row.running), number: true },
  { name: 'waiting', value: (row) => row.waiting, text: (row) => threeDigits(row.waiting), number: true },
  { name: 'cache', value: (row) => row.cache, text: (row) => percent(row.cache), number: true },
  { name: 'busy', value: (row) => row.busy, text: (row) => percent(row.busy), number: true },
  { name: 'power W', value: (row) => row.power_w, text: (row) => (row.power_w === null ? '–' : threeDigits(row.power_w)), number: true },
];

interface OverTimeProps {
  slices: Slice[];
  fast?: Slice[] | undefined; // the same seconds, with all steps at the ends of their intervals
  slow?: Slice[] | undefined;
  file: string;
}

export function OverTime({ slices, fast, slow, file }: OverTimeProps) {
  const line = (name: string, colour: number, of: (slice: Slice) => number) => ({
    name, colour,
    points: slices.map((slice, i) => {
      const all = [slice, fast?.[i], slow?.[i]].filter((one) => one !== undefined).map(of);
      return { x: slice.time_s, y: of(slice), ...(all.length === 3 ? { interval: [Math.min(...all), Math.max(...all)] as const } : {}) };
    }),
  });
  const note = fast && slow ? 'Bands: the same requests with all steps at the ends of their 80 % interval.' : 'The run as forecast; the intervals of its figures stand above.';
  return (
    <>
      <Figure title="Requests over time" file={`${file}-requests`} columns={sliceColumns} rows={slices} note={note}>
        <Lines label="Requests that run and that wait, over time" lines={[line('running', 0, (slice) => slice.running), line('waiting', 1, (slice) => slice.waiting)]}
          xText={plain} yText={plain} xTitle="seconds" yTitle="requests" height={210} />
      </Figure>
      <Figure title="Cache and GPUs over time" file={`${file}-cache`} columns={sliceColumns} rows={slices} note={note}>
        <Lines label="Share of the cache in use and of time that GPUs compute" xText={plain} yText={percent} xTitle="seconds" yTitle="share" height={210}
          lines={[line('cache in use', 2, (slice) => slice.cache), line('GPUs busy', 3, (slice) => slice.busy)]} />
      </Figure>
    </>
  );
}

const kinds = ['decode', 'prefill', 'mixed'];
const kindOf = (step: ServedStep): number => (step.prompt_tokens === 0 ? 0 : step.decodes === 0 ? 1 : 2);

const stepColumns: Column<ServedStep>[] = [
  { name: 'start s', value: (row) => row.start_s, text: (row) => row.start_s.toFixed(3), number: true },
  { name: 'step ms', value: (row) => row.step_ms, text: (row) => threeDigits(row.step_ms), number: true },
  { name: '80 % low ms', value: (row) => row.interval_ms?.[0], text: (row) => (row.interval_ms ? threeDigits(row.interval_ms[0]) : '–'), number: true },
  { name: 'high ms', value: (row) => row.interval_ms?.[1], text: (row) => (row.interval_ms ? threeDigits(row.interval_ms[1]) : '–'), number: true },
  { name: 'replica', value: (row) => row.replica, number: true },
  { name: 'kind', value: (row) => kinds[kindOf(row)] },
  { name: 'prompt tokens', value: (row) => row.prompt_tokens, number: true },
  { name: 'decodes', value: (row) => row.decodes, number: true },
  { name: 'running', value: (row) => row.running, number: true },
  { name: 'waiting', value: (row) => row.waiting, number: true },
  { name: 'cache', value: (row) => row.cache, text: (row) => percent(row.cache), number: true },
];

export function Steps({ run, steps }: { run: Simulation; steps: ServedStep[] }) {
  if (steps.length === 0) return <p class="note">The run is over by then: choose an earlier second.</p>;
  const from = steps[0]!.start_s;
  const replicas = [...new Set(steps.map((step) => step.replica))].sort((a, b) => a - b);
  const nameOf = (replica: number) => (replica < run.replicas ? `replica ${replica}` : `prefill ${replica - run.replicas}`);
  return (
    <Figure title="Steps of the engine" file="tilecast-steps" columns={stepColumns} rows={steps}
      note={`${steps.length} steps from ${seconds(from)} of the run on.`}>
      <Timeline lanes={replicas.map(nameOf)} kinds={kinds} text={(ms) => milliseconds(ms)} title={`after ${seconds(from)}`} label="Steps of the engine over time" laneHeight={34}
        spans={steps.map((step) => ({
          lane: replicas.indexOf(step.replica), start: (step.start_s - from) * 1e3, end: (step.start_s - from) * 1e3 + step.step_ms, name: kinds[kindOf(step)]!, kind: kindOf(step),
          ...(step.interval_ms ? { interval: [step.interval_ms[0], step.interval_ms[1]] as const } : {}),
          more: [`${step.prompt_tokens} prompt tokens, ${step.decodes} answers`, `${step.running} running, ${step.waiting} waiting, cache ${percent(step.cache)}`],
        }))} />
      <Lines label="Requests waiting and running at each step" steps height={170} xText={(s) => s.toFixed(2)} yText={plain} xTitle="seconds of the run" yTitle="requests"
        lines={[{ name: 'in the batch', colour: 0, points: steps.map((step) => ({ x: step.start_s - from, y: step.running })) },
          { name: 'waiting', colour: 1, points: steps.map((step) => ({ x: step.start_s - from, y: step.waiting })) }]} />
    </Figure>
  );
}
