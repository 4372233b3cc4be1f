// Where a step's time goes: the graph of its layers, and the kernels of the operator that is picked.
import { Flow } from '../charts/flow';
import type { Step, StepKernel } from '../documents';
import { DataTable, Figure } from '../figure';
import { microseconds, milliseconds, percent, seenText } from '../format';
import { type Operator, sectionsOf } from '../layers';
import { hashOf, writeState } from '../link';
import { Fact } from '../parts';
import { type Column, figure } from '../table';

const kernelColumns: Column<StepKernel>[] = [
  { name: 'kernel', value: (row) => row.name },
  { name: 'family', value: (row) => row.family },
  { name: 'format', value: (row) => row.dtype },
  figure('times', (row) => row.times),
  figure('each (µs)', (row) => row.latency_us, microseconds),
  figure('80 % low (µs)', (row) => row.interval_us[0], microseconds),
  figure('high (µs)', (row) => row.interval_us[1], microseconds),
  figure('well tuned (µs)', (row) => row.ceiling_us, microseconds),
  figure('bound (µs)', (row) => row.bound_us, microseconds),
  { name: 'limited by', value: (row) => row.limited_by },
  { name: 'seen', value: (row) => seenText(row.seen) },
  {
    name: 'shape',
    value: (row) =>
      Object.entries(row.dims)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
  },
];

const kernelLink = (kernel: StepKernel, gpu: string): string => {
  const dims = Object.fromEntries(Object.entries(kernel.dims).map(([name, value]) => [name.replace(/-/g, '_'), value]));
  return hashOf({
    view: 'kernel',
    query: writeState({}, { args: { family: kernel.family, gpu, dtype: kernel.dtype, ...dims }, own: {} }),
  });
};

function Detail({ operator, gpu }: { operator: Operator; gpu: string }) {
  const bound = operator.kernels.reduce((sum, kernel) => sum + kernel.bound_us * kernel.times, 0);
  return (
    <div class="detail">
      <h3>
        {operator.block ? `${operator.block} ` : ''}
        {operator.name}
      </h3>
      <dl class="facts">
        <Fact name="in the step" more={percent(operator.share)}>
          {microseconds(operator.time_us)}
        </Fact>
        <Fact name="no run beats" more={`${percent(bound / operator.time_us)} reached`}>
          {microseconds(bound)}
        </Fact>
        <Fact name="limited by">{operator.limited_by}</Fact>
      </dl>
      <DataTable columns={kernelColumns} rows={operator.kernels} caption={`Kernels of ${operator.name}`} />
      <p>
        {operator.kernels.slice(0, 6).map((kernel) => (
          <a class="more-link" href={kernelLink(kernel, gpu)}>
            {kernel.name} against its roofline
          </a>
        ))}
      </p>
    </div>
  );
}

export function Breakdown({
  step,
  name,
  picked,
  onPick,
}: {
  step: Step;
  name: string;
  picked: number;
  onPick: (index: number) => void;
}) {
  const kernels = step.kernels ?? [];
  const sections = sectionsOf(kernels);
  const operators = sections.flatMap((section) => section.operators);
  const classes = [...new Set(kernels.map((kernel) => kernel.class))];
  const longest = operators.reduce((best, operator, i) => (operator.time_us > operators[best]!.time_us ? i : best), 0);
  const shown = operators[picked] ? picked : longest;
  if (operators.length === 0) return null;
  return (
    <Figure
      title={`Where the time goes on ${name}`}
      file={`breakdown-${name}`}
      columns={kernelColumns}
      rows={kernels}
      note={
        step.host_ms ? (
          <>
            Kernels {milliseconds(step.gpu_ms ?? 0)}, host launches {milliseconds(step.host_ms)}
            {step.host_bound ? ': the host holds the card back.' : '.'}
          </>
        ) : undefined
      }
    >
      <Flow
        sections={sections}
        classes={classes}
        picked={shown}
        onPick={onPick}
        label={`Operators of a step on ${name}, in order`}
      />
      <Detail operator={operators[shown]!} gpu={step.gpu} />
    </Figure>
  );
}
