// One layout of a training step: memory by rank, where the time goes, and the pipeline over time.
import { Stacks } from '../charts/stack';
import { type Span, Timeline } from '../charts/timeline';
import { Figure } from '../figure';
import { bytes, interval, milliseconds } from '../format';
import { Fact } from '../parts';
import type { Column } from '../table';
import { type SpreadStep, type Stage, type Task, memoryParts } from './training';

type StageRow = Stage & { name: string };

const stageColumns: Column<StageRow>[] = [
  { name: 'rank', value: (row) => row.name },
  { name: 'layers', value: (row) => row.layers, number: true },
  ...memoryParts.map((part): Column<StageRow> => ({ name: `${part} bytes`, value: (row) => row.memory_bytes[part], text: (row) => bytes(row.memory_bytes[part]), number: true })),
  { name: 'total bytes', value: (row) => row.memory_bytes.total, text: (row) => bytes(row.memory_bytes.total), number: true },
  { name: 'usable bytes', value: (row) => row.usable_bytes, text: (row) => bytes(row.usable_bytes), number: true },
  { name: 'forward ms', value: (row) => row.forward_ms, text: (row) => milliseconds(row.forward_ms), number: true },
  { name: 'backward ms', value: (row) => row.backward_ms, text: (row) => milliseconds(row.backward_ms), number: true },
];

function namesOf(step: SpreadStep): string[] {
  const alike = Math.max(1, Math.round(step.gpus / Math.max(1, step.stages.length)));
  return step.stages.map((_, i) => (alike === 1 ? `rank ${i}` : `ranks ${i * alike}–${(i + 1) * alike - 1}`));
}

function Memory({ step }: { step: SpreadStep }) {
  const names = namesOf(step);
  const rows = step.stages.map((stage, i) => ({ ...stage, name: names[i]! }));
  return (
    <Figure title="Memory by rank" file="tilecast-memory" columns={stageColumns} rows={rows} note={step.fits ? undefined : 'It does not fit.'}>
      <Stacks label="Memory of each pipeline rank by what it holds" title="memory of a GPU" text={bytes} data parts={[...memoryParts]} limitName="usable"
        stacks={rows.map((row) => ({ name: row.name, parts: memoryParts.map((part) => row.memory_bytes[part]), limit: row.usable_bytes, total: row.memory_bytes.total, note: `${row.layers} layers` }))} />
    </Figure>
  );
}

const kinds = ['forward', 'backward', 'gradients of weights', 'exchange or update'];
function kindOf(task: string): number {
  if (task === 'forward') return 0;
  if (task === 'backward' || task === 'backward input') return 1;
  return task === 'backward weight' ? 2 : 3;
}

const taskColumns = ([low, high]: readonly [number, number]): Column<Task>[] => [
  { name: 'rank', value: (row) => row[0], number: true },
  { name: 'task', value: (row) => row[1] },
  { name: 'micro-batch', value: (row) => (row[2] < 0 ? null : row[2]), number: true },
  { name: 'chunk', value: (row) => row[3], number: true },
  { name: 'begin ms', value: (row) => row[4], text: (row) => row[4].toFixed(2), number: true },
  { name: 'end ms', value: (row) => row[5], text: (row) => row[5].toFixed(2), number: true },
  { name: '80 % low ms', value: (row) => (row[5] - row[4]) * low, text: (row) => ((row[5] - row[4]) * low).toFixed(2), number: true },
  { name: 'high ms', value: (row) => (row[5] - row[4]) * high, text: (row) => ((row[5] - row[4]) * high).toFixed(2), number: true },
];

// A task is one of hundreds of its kind, which err together: its interval is as wide as the step's.
const widthsOf = (step: SpreadStep): readonly [number, number] => [step.interval_ms[0] / step.step_ms, step.interval_ms[1] / step.step_ms];

const mostDrawn = 1200;
export const windowsOf = (tasks: Task[]): number => Math.max(1, Math.ceil(tasks.length / mostDrawn));

function Pipeline({ step, part, onPart }: { step: SpreadStep; part: number; onPart: (part: number) => void }) {
  const timeline = step.timeline!;
  const windows = windowsOf(timeline.tasks);
  const at = Math.min(part, windows - 1);
  const tasks = timeline.tasks.slice(at * mostDrawn, (at + 1) * mostDrawn);
  const from = Math.min(...tasks.map((task) => task[4]));
  const beside = timeline.tasks.some((task) => task[6]);
  const names = namesOf(step), [low, high] = widthsOf(step);
  const over = at === windows - 1 ? ([step.interval_ms[0] - from, step.interval_ms[1] - from] as const) : undefined;
  const lanes = names.flatMap((name) => (beside ? [name, 'exchanges'] : [name]));
  const spans = tasks.map(([rank, task, microBatch, chunk, begin, end, aside]): Span => ({
    lane: beside ? 2 * rank + (aside ? 1 : 0) : rank, start: begin - from, end: end - from, kind: kindOf(task), interval: [(end - begin) * low, (end - begin) * high],
    name: microBatch < 0 ? task : `${task} of micro-batch ${microBatch}${step.stages.length < timeline.ranks || chunk > 0 ? `, chunk ${chunk}` : ''}`,
  }));
  return (
    <Figure title="The pipeline over a step" file="tilecast-pipeline" columns={taskColumns([low, high])} rows={tasks}
      note={<>
        A task’s interval is as wide as the step’s; the whisker is when the step is over.
        {windows > 1 && <div class="partrange">
          <label>Part of the step <input type="range" min={0} max={windows - 1} value={at} onInput={(event) => onPart(Number(event.currentTarget.value))} aria-valuetext={`part ${at + 1} of ${windows}, from ${milliseconds(from)}`} /></label>
          <span>part {at + 1} of {windows}, from {milliseconds(from)}{timeline.left_out > 0 ? `; ${timeline.left_out} tasks in the middle repeat and are left out` : ''}</span>
        </div>}
      </>}>
      <Timeline label="Tasks of each pipeline rank over the step" lanes={lanes} spans={spans} kinds={kinds} text={milliseconds} title={from > 0 ? `after ${milliseconds(from)}` : 'time of the step'} laneHeight={beside ? 20 : 26} end={over} />
    </Figure>
  );
}

export function LayoutDetail({ step, part, onPart }: { step: SpreadStep; part: number; onPart: (part: number) => void }) {
  return (
    <>
      <dl class="facts">
        <Fact name="step" more={interval([step.interval_ms[0], step.interval_ms[1]], milliseconds)}>{milliseconds(step.step_ms)}</Fact>
        <Fact name="computing">{milliseconds(step.compute_ms)}</Fact>
        <Fact name="bubble">{milliseconds(step.bubble_ms)}</Fact>
        <Fact name="exposed exchanges">{milliseconds(step.exposed_ms)}</Fact>
        <Fact name="optimizer">{milliseconds(step.optimizer_ms)}</Fact>
        <Fact name="micro-batches">{step.micro_batches}</Fact>
      </dl>
      <Memory step={step} />
      {step.timeline && step.timeline.tasks.length > 0 && <Pipeline step={step} part={part} onPart={onPart} />}
    </>
  );
}
