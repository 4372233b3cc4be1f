// A model's step on one card or many.
import { useMemo, useState } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Query } from '../api';
import type { ProgramStep, Step } from '../documents';
import { ArgumentForm } from '../forms/form';
import { GpusPicker } from '../forms/gpus';
import { type GivenModel, ModelPicker, nameOfGiven } from '../forms/model';
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
  config: json<Record<string, unknown> | null>(null), // a config.json given by value, small enough for a link
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
const largestInLink = 6000; // characters; longer links are cut by programs that pass them on

const isProgram = (row: Step | ProgramStep): row is ProgramStep => 'program' in row;

export function Forecast() {
  const [{ args, own }, change] = useLinkState('forecast', fields, opening);
  const [file, setFile] = useState<GivenModel>();
  const question = useQuestion('predict');
  const given = file ?? own.config ?? undefined;
  const query: Query = useMemo(() => {
    const { model, ...rest } = args;
    return queryOf({ ...(given ? {} : { model: model ?? '' }), ...rest }, question?.arguments ?? [], {
      given: given ? { model: given } : {},
    });
  }, [args, given, question]);
  const { answer, asked, error, busy } = useAnswer<(Step | ProgramStep)[]>(
    'predict',
    query.model && (query.gpu || query.cluster) ? query : undefined,
  );
  const take = (value: GivenModel | undefined) => {
    const short = value && !('base64' in value) && JSON.stringify(value).length < largestInLink;
    setFile(short ? undefined : value);
    change({ own: { config: short ? (value as Record<string, unknown>) : null, card: 0, operator: -1 } });
  };
  return (
    <div class="split">
      <Inputs
        label="What to forecast"
        summary={`${given ? nameOfGiven(given) : (args.model ?? '')}, ${args.mode ?? 'prefill'}, ${args.cluster ?? args.gpu ?? ''}`}
      >
        <ModelPicker
          value={args.model ?? ''}
          given={given}
          onName={(model) => change({ args: { model }, own: { operator: -1 } })}
          onGiven={take}
        />
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu }, own: { card: 0 } })} />
        <ArgumentForm
          declared={question?.arguments}
          values={args}
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
      {shown?.note && <p class="note">{shown.note}</p>}
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
