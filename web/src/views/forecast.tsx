// A model's step on one card or many.
import { useMemo } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Query } from '../api';
import { type ProgramStep, type Step, isProgram } from '../documents';
import { ArgumentForm } from '../forms/form';
import { argsFor, type Config, factsOf, programTakes, useGivenModel } from '../forms/given_model';
import { GpusPicker } from '../forms/gpus';
import { ModelPicker, kindOf, nameOfGiven } from '../forms/model';
import { queryOf } from '../forms/query';
import { json, number, oneOf } from '../link';
import { Busy, Commands, ErrorNote, Inputs } from '../parts';
import { useLinkState } from '../state';
import { Breakdown } from './breakdown';
import { Memory } from './memory';
import { ProgramResults } from './program';
import { StepChart } from './step_chart';

export const fields = {
  card: number(0), // whose breakdown is shown
  operator: number(-1), // -1: the longest
  measure: oneOf(['time', 'rate'] as const, 'time'),
  config: json<Config>(null), // a config.json given by value, small enough for a link
};
// The command that `make demo` shows.
export const opening = {
  model: 'Llama-3.1-8B',
  gpu: 'A100-SXM-80GB,L40S,H100-SXM,B200,MI355X',
  mode: 'decode',
  batch: '32',
  context: '2048',
};

const main = ['mode', 'batch', 'seq', 'context', 'dtype', 'engine'];
export function Forecast() {
  const [{ args, own }, change] = useLinkState('forecast', fields, opening);
  const [given, take] = useGivenModel(own.config, (config) => change({ own: { config, card: 0, operator: -1 } }));
  const question = useQuestion('predict');
  const kind = kindOf(given);
  const facts = factsOf(args, kind);
  const declared = useMemo(
    () => (kind === 'program' ? question?.arguments.filter((one) => programTakes.includes(one.name)) : question?.arguments),
    [question, kind],
  );
  const query: Query = useMemo(
    () =>
      queryOf({ ...(given ? {} : { model: args.model ?? '' }), ...argsFor(args, kind) }, question?.arguments ?? [], {
        given: given ? { model: given } : {},
        facts,
      }),
    [args, given, question],
  );
  const { answer, asked, error, busy } = useAnswer<(Step | ProgramStep)[]>(
    'predict',
    query.model && (query.gpu || query.cluster) ? query : undefined,
  );
  return (
    <div class="split">
      <Inputs
        label="What to forecast"
        summary={`${given ? nameOfGiven(given) : (args.model ?? '')}, ${args.mode ?? 'prefill'}, ${(args.cluster ?? args.gpu ?? '').replace(/,\s*/g, ', ')}`}
      >
        <ModelPicker
          value={args.model ?? ''}
          given={given}
          onName={(model) => change({ args: { model }, own: { operator: -1 } })}
          onGiven={take}
        />
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu }, own: { card: 0 } })} />
        <ArgumentForm
          declared={declared}
          values={args}
          facts={facts}
          onChange={(values) => change({ args: values })}
          error={error}
          main={main}
          skip={['model', 'gpu']}
        />
      </Inputs>
      <div class={busy && answer ? 'results stale' : 'results'} aria-busy={busy}>
        <ErrorNote error={error} />
        {!answer && <Busy busy={busy} />}
        {answer && <Results rows={answer} query={asked ?? query} own={own} change={change} />}
        <Commands question={question} query={query} />
      </div>
    </div>
  );
}

interface ResultsProps {
  rows: (Step | ProgramStep)[];
  query: Query;
  own: { card: number; operator: number; measure: 'time' | 'rate' };
  change: (given: { own: Partial<{ card: number; operator: number; measure: 'time' | 'rate' }> }) => void;
}

function Results({ rows, query, own, change }: ResultsProps) {
  const failed = rows.filter((row) => row.error);
  const ran = rows.filter((row) => !row.error);
  const picked = Math.min(own.card, Math.max(0, ran.length - 1));
  const programs = ran.filter(isProgram),
    steps = ran.filter((row): row is Step => !isProgram(row));
  const shown = steps[picked];
  const pick = (card: number) => change({ own: { card } });
  const gpus = Array.isArray(query.gpu) ? query.gpu : [query.gpu];
  // Rows that failed have no bar; a card is found by its name, or by its place where it was given by value.
  const gpuOf = (index: number) => gpus.find((gpu) => gpu === steps[index]?.gpu) ?? steps[index]?.gpu;
  return (
    <>
      {failed.map((row) => (
        <div class="error" role="status">
          <strong>{row.gpu}</strong>: {row.error}
        </div>
      ))}
      {programs.length > 0 && <ProgramResults steps={programs} picked={picked} onPick={pick} />}
      {steps.length > 0 && (
        <StepChart
          steps={steps}
          item="tokens"
          measure={own.measure}
          onMeasure={(measure) => change({ own: { measure } })}
          picked={picked}
          onPick={pick}
        />
      )}
      {shown?.notes?.length ? <p class="note">{shown.notes.join('; ')}</p> : null}
      {shown && (
        <Breakdown
          step={shown}
          name={shown.cluster ?? shown.gpu}
          picked={own.operator}
          onPick={(operator) => change({ own: { operator } })}
        />
      )}
      {shown && <Memory steps={steps} query={query} picked={picked} gpuOf={gpuOf} />}
    </>
  );
}
