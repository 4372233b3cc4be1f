// One kernel: its time on cards, its roofline, how it fills the SMs, and what each pipe takes.
import { useMemo } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Argument, Family, Query } from '../api';
import { IntervalBars } from '../charts/bars';
import type { KernelForecast } from '../documents';
import { Figure } from '../figure';
import { microseconds, percent } from '../format';
import { Control } from '../forms/control';
import { ArgumentForm } from '../forms/form';
import { GpusPicker } from '../forms/gpus';
import { keyOf, queryOf } from '../forms/query';
import { number } from '../link';
import { Busy, Commands, ErrorNote, Fact, Inputs, Seen, Tabs } from '../parts';
import { useLinkState } from '../state';
import { type Column, figure } from '../table';
import { Filling, Pipes, Rooflines } from './kernel_parts';

export const fields = { card: number(0), launch: number(0) };
export const opening = { family: 'gemm', m: '4096', n: '4096', k: '4096', gpu: 'A100-SXM-80GB,H100-SXM,B200' };

// "--m 4096 --n 4096 --causal": an example as values of its dimensions.
export function valuesOfExample(example: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [, name = '', value] of example.matchAll(/--([\w-]+)(?:[ =](?!--)(\S+))?/g))
    values[name.replace(/-/g, '_')] = value ?? 'true';
  return values;
}

function FamilyForm({
  families,
  args,
  onFamily,
  onChange,
  error,
}: {
  families: Family[];
  args: Record<string, string>;
  onFamily: (family: Family) => void;
  onChange: (values: Record<string, string>) => void;
  error: Parameters<typeof Control>[0]['error'];
}) {
  const family = families.find((one) => one.name === args.family);
  const choice: Argument = {
    name: 'family',
    kind: 'choice',
    help: family?.summary ?? '',
    unit: '',
    example: '',
    default: '',
    choices: families.map((one) => one.name),
    aliases: [],
    required: true,
  };
  const needed = family?.dims.filter((dim) => dim.required) ?? [],
    others = family?.dims.filter((dim) => !dim.required) ?? [];
  const show = (dim: Argument) => (
    <Control
      key={`${args.family} ${dim.name}`}
      argument={dim}
      label={dim.name}
      exact
      value={args[keyOf(dim)] ?? ''}
      error={error}
      onChange={(text) => onChange({ [keyOf(dim)]: text })}
    />
  );
  const shown = others.filter((dim) => (args[keyOf(dim)] ?? '') !== ''),
    folded = others.filter((dim) => !shown.includes(dim));
  return (
    <>
      <Control
        argument={choice}
        value={args.family ?? ''}
        label="kernel family"
        onChange={(name) => {
          const picked = families.find((one) => one.name === name);
          if (picked) onFamily(picked);
        }}
      />
      <div class="pair">{[...needed, ...shown].map(show)}</div>
      {folded.length > 0 && (
        <details class="folded">
          <summary>Other dimensions</summary>
          {folded.map(show)}
        </details>
      )}
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
      <Inputs label="Which kernel" summary={`${args.family ?? ''} on ${(args.gpu ?? '').replace(/,\s*/g, ', ')}`}>
        {question?.families && (
          <FamilyForm
            families={question.families}
            args={args}
            onFamily={pickFamily}
            onChange={(values) => change({ args: values })}
            error={error}
          />
        )}
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu }, own: { card: 0 } })} />
        <ArgumentForm
          declared={question?.arguments}
          values={args}
          onChange={(values) => change({ args: values })}
          error={error}
          main={['dtype', 'warmth', 'runtime']}
          skip={['gpu']}
        />
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
  figure('forecast (µs)', (row) => row.latency_us, microseconds),
  figure('80 % low (µs)', (row) => row.interval_us[0], microseconds),
  figure('high (µs)', (row) => row.interval_us[1], microseconds),
  figure('well tuned (µs)', (row) => row.ceiling_us, microseconds),
  figure('bound (µs)', (row) => row.bound_us, microseconds),
  figure('efficiency', (row) => row.efficiency, percent),
  { name: 'limited by', value: (row) => row.limited_by },
  { name: 'seen', value: (row) => row.seen },
];

interface ResultsProps {
  forecasts: KernelForecast[];
  own: { card: number; launch: number };
  change: (given: { own: Partial<{ card: number; launch: number }> }) => void;
}

function Results({ forecasts, own, change }: ResultsProps) {
  const card = Math.min(own.card, forecasts.length - 1),
    shown = forecasts[card]!;
  const index = Math.min(own.launch, shown.breakdown.length - 1),
    launch = shown.breakdown[index]!;
  return (
    <>
      <Figure
        title={`${shown.kernel.family}, ${shown.kernel.dtype}`}
        file={`kernel-${shown.kernel.family}`}
        columns={columns}
        rows={forecasts}
        note="Whiskers are 80 % intervals; the line in a bar is the bound that no kernel beats."
      >
        <IntervalBars
          label="Time of the kernel by card"
          text={microseconds}
          title="time"
          picked={card}
          onPick={(picked) => change({ own: { card: picked, launch: 0 } })}
          bars={forecasts.map((row) => ({
            name: row.gpu,
            value: row.latency_us,
            interval: [row.interval_us[0], row.interval_us[1]],
            bound: row.bound_us,
            note: row.seen,
            more: [
              `a well-tuned kernel reaches ${microseconds(row.ceiling_us)}, no kernel beats ${microseconds(row.bound_us)}`,
              `limited by ${row.limited_by}`,
            ],
          }))}
        />
        <dl class="facts">
          <Fact
            name={shown.gpu}
            more={<Seen seen={shown.seen} />}
          >
            {microseconds(shown.latency_us)}
          </Fact>
          <Fact name="a well-tuned kernel reaches">{microseconds(shown.ceiling_us)}</Fact>
          <Fact name="no kernel beats" more={`${percent(shown.efficiency)} reached`}>
            {microseconds(shown.bound_us)}
          </Fact>
          <Fact name="limited by">{shown.limited_by}</Fact>
        </dl>
      </Figure>
      <Rooflines forecasts={forecasts} index={index} />
      {shown.breakdown.length > 1 && (
        <Tabs
          label="Launch"
          picked={String(index)}
          onPick={(id) => change({ own: { launch: Number(id) } })}
          tabs={shown.breakdown.map((one, i) => ({ id: String(i), title: `${one.name} ${microseconds(one.latency_us)}` }))}
        />
      )}
      <div class="columns">
        <Filling launch={launch} sms={shown.sms ?? 0} gpu={shown.gpu} />
        <Pipes launch={launch} gpu={shown.gpu} />
      </div>
    </>
  );
}
