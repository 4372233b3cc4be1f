// A recorded PyTorch program's step: time by card, by phase and operator, and the allocator's memory over its calls.
import { IntervalBars } from '../charts/bars';
import { Lines } from '../charts/lines';
import { type ProgramPart, type ProgramStep, variantNames } from '../documents';
import { Figure } from '../figure';
import { bytes, grouped, milliseconds, percent, seenMark, seenText } from '../format';
import { Fact } from '../parts';
import { type Column, figure } from '../table';

const columns: Column<ProgramStep>[] = [
  { name: 'GPU', value: (row) => row.gpu },
  { name: 'engine', value: (row) => row.engine },
  figure('step (ms)', (row) => row.step_ms, milliseconds),
  figure('80 % low (ms)', (row) => row.interval_ms[0], milliseconds),
  figure('high (ms)', (row) => row.interval_ms[1], milliseconds),
  figure('kernels (ms)', (row) => row.kernels_ms, milliseconds),
  figure('host (ms)', (row) => row.host_ms, milliseconds),
  figure('memory at the peak (bytes)', (row) => row.memory_bytes.peak, bytes),
  { name: 'fits', value: (row) => row.memory_bytes.fits, text: (row) => (row.memory_bytes.fits ? 'yes' : 'no') },
  { name: 'seen', value: (row) => seenText(row.seen) },
];
const partColumns: Column<ProgramPart>[] = [
  { name: 'operator', value: (row) => row.name },
  figure('time (ms)', (row) => row.time_ms, milliseconds),
  figure('calls', (row) => row.calls, grouped),
  figure('launches', (row) => row.launches, grouped),
];

function Parts({ step }: { step: ProgramStep }) {
  const longest = step.operators.slice(0, 14);
  return (
    <Figure title={`Operators on ${step.gpu}`} file={`operators-${step.gpu}`} columns={partColumns} rows={step.operators}>
      <IntervalBars
        label="Time by operator"
        text={milliseconds}
        title="time in the step"
        bars={longest.map((part) => ({
          name: part.name,
          value: part.time_ms,
          note: percent(part.time_ms / step.kernels_ms),
          more: [`${grouped(part.calls)} calls, ${grouped(part.launches)} launches`],
          colour: part.known === false ? 1 : 0,
        }))}
      />
    </Figure>
  );
}

export function ProgramResults({
  steps,
  picked,
  onPick,
}: {
  steps: ProgramStep[];
  picked: number;
  onPick: (index: number) => void;
}) {
  const names = variantNames(steps);
  const shown = steps[picked] ?? steps[0];
  if (!shown) return null;
  const points = shown.memory_bytes.over_calls.map(([call, most]) => ({ x: call, y: most }));
  return (
    <>
      <Figure
        title={`Step of ${shown.program}`}
        file={`program-${shown.program}`}
        columns={columns}
        rows={steps}
        note="Whiskers are 80 % intervals."
      >
        <IntervalBars
          label="Time of a step by card"
          text={milliseconds}
          title="time of a step"
          picked={picked}
          onPick={onPick}
          bars={steps.map((step, i) => ({
            name: names[i]!,
            value: step.step_ms,
            interval: [step.interval_ms[0], step.interval_ms[1]],
            bound: step.bound_ms,
            note: seenMark(step.seen),
            faint: !step.memory_bytes.fits,
            more: [step.host_bound ? 'the host holds it back' : 'the GPU holds it back'],
          }))}
        />
        <dl class="facts">
          <Fact name="recognised" more="share of kernels’ time">
            {percent(shown.recognised)}
          </Fact>
          <Fact name="operators called">{grouped(shown.calls)}</Fact>
          <Fact name="kernels launched">{grouped(shown.launches)}</Fact>
          <Fact
            name="memory at the peak"
            more={`in ${shown.memory_bytes.peak_module || 'the step'}, of ${bytes(shown.memory_bytes.card)}`}
          >
            {bytes(shown.memory_bytes.peak)}
          </Fact>
        </dl>
      </Figure>
      <Parts step={shown} />
      <Figure
        title={`Memory over the step on ${shown.gpu}`}
        file={`program-memory-${shown.gpu}`}
        rows={points}
        columns={[
          { name: 'call', value: (row) => row.x },
          figure<(typeof points)[number]>('allocated (bytes)', (row) => row.y, bytes),
        ]}
      >
        <Lines
          label="Memory handed out over the program’s calls"
          lines={[{ name: 'allocated', points }]}
          xText={grouped}
          yText={bytes}
          xTitle="call"
          yTitle="allocated"
          steps
          data
          limits={
            shown.memory_bytes.peak > 0.5 * shown.memory_bytes.card
              ? [{ y: shown.memory_bytes.card, name: 'the card’s memory' }]
              : []
          }
        />
      </Figure>
    </>
  );
}
