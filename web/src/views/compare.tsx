// Cards side by side: time, throughput, money and energy, with prices and power limits of one's own.
import { useMemo } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Query } from '../api';
import type { Changes } from '../cards';
import { IntervalBars } from '../charts/bars';
import { type ComparedStep, type ProgramStep, type Step, comparedStep, isProgram } from '../documents';
import { Figure } from '../figure';
import { count, dollars, grouped, milliseconds, seenMark, times } from '../format';
import { ArgumentForm } from '../forms/form';
import { argsFor, type Config, factsOf, programTakes, useGivenModel } from '../forms/given_model';
import { GpusPicker, useGpus } from '../forms/gpus';
import { ModelPicker, kindOf, nameOfGiven } from '../forms/model';
import { queryOf } from '../forms/query';
import { type Values, flag, json, oneOf, readState, text, writeState } from '../link';
import { Busy, Commands, ErrorNote, Inputs, Tabs } from '../parts';
import { useLinkState } from '../state';
import { type Card, type Own, type Row, type Unit, cardsOf, columns, measures, rowsOf, titleOf, tokensIn } from './compare_rows';
import { fields as forecastFields } from './forecast';
import { Hypothetical } from './hypothetical';

export const fields = {
  by: oneOf(measures, 'cost'),
  sorted: flag(true),
  prices: json<Record<string, number>>({}), // dollars an hour, in place of the list's
  powers: json<Record<string, number>>({}), // watts, in place of the board's limit
  tokens: text('1B'), // of a run
  like: text(), // parent of the card that does not exist
  changes: json<Changes>({}),
  config: json<Config>(null), // a config.json given by value, small enough for a link
};
export const opening = {
  model: 'Llama-3.1-8B',
  gpu: 'A100-SXM-80GB,L40S,H100-SXM,H200-SXM,B200,MI300X',
  mode: 'decode',
  batch: '64',
  context: '2048',
};

export function Compare() {
  const [{ args, own }, change] = useLinkState('compare', fields, opening);
  const [given, take] = useGivenModel(own.config, (config) => change({ own: { config } }));
  const kind = kindOf(given);
  const facts = factsOf(args, kind);
  const question = useQuestion('predict');
  const declared = useMemo(
    () => (kind === 'program' ? question?.arguments.filter((one) => programTakes.includes(one.name)) : question?.arguments),
    [question, kind],
  );
  const known = useGpus();
  const names = (args.gpu ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  const cards = cardsOf(names, known, own);
  const query: Query = useMemo(() => {
    const { gpu: _, ...rest } = argsFor(args, kind);
    const asked = cards.map((card) => card.asked);
    const model: Values = given ? {} : { model: args.model ?? '' };
    return {
      ...queryOf({ ...model, ...rest }, question?.arguments ?? [], { given: given ? { model: given } : {}, facts }),
      gpu: asked.length === 1 ? asked[0] : asked,
    };
  }, [args, given, JSON.stringify(cards), question]);
  const { answer, error, busy } = useAnswer<(Step | ProgramStep)[]>('predict', query.model && cards.length ? query : undefined);
  return (
    <div class="split">
      <Inputs label="What to compare" summary={`${given ? nameOfGiven(given) : (args.model ?? '')}, ${args.mode ?? 'prefill'}, ${names.join(', ')}`}>
        <ModelPicker
          value={args.model ?? ''}
          given={given}
          onName={(model) => change({ args: { model } })}
          onGiven={take}
        />
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu } })} />
        <ArgumentForm
          declared={declared}
          values={args}
          facts={facts}
          onChange={(values) => change({ args: values })}
          error={error}
          main={['mode', 'batch', 'seq', 'context', 'dtype', 'engine']}
          skip={['model', 'gpu', 'cluster']}
        />
      </Inputs>
      <div class="results" aria-busy={busy}>
        <ErrorNote error={error} />
        {!answer && <Busy busy={busy} />}
        {answer && <Bars cards={cards} steps={answer.map(comparedStep)} unit={answer.some(isProgram) ? 'steps' : 'tokens'} forecastLink={`#/forecast?${writeState(forecastFields, { args, own: { ...forecastState, config: own.config } })}`} own={own} change={change} />}
        <Sliders cards={cards} own={own} change={change} />
        <Hypothetical like={own.like} changes={own.changes} onChange={(given) => change({ own: given })} />
        <Commands question={question} query={query} />
      </div>
    </div>
  );
}

const forecastState = readState(forecastFields, '').own;

const limitOf = (step: ComparedStep): string => {
  const limit = step.host_bound ? 'the host' : step.limited_by;
  return limit ? `, limited by ${limit}` : '';
};

interface PartProps {
  cards: Card[];
  own: Own;
  change: (given: { own: Partial<Own> }) => void;
}

function Bars({ cards, steps, unit, forecastLink, own, change }: PartProps & { steps: ComparedStep[]; unit: Unit; forecastLink: string }) {
  const rows = rowsOf(cards, steps, own),
    { title, axis, text } = titleOf(own.by, unit);
  const without = cards.filter((card) => !rows.some((row) => row.name === card.name));
  const best = rows[0];
  const failed = steps.filter((step) => step.error);
  const tooSmall = rows.filter((row) => row.step.fits === false).map((row) => row.name);
  return (
    <>
      {failed.map((step) => (
        <div class="error" role="status">
          <strong>{step.gpu}</strong>: {step.error}
        </div>
      ))}
      <Figure
        title={own.by === 'run' ? `Cost of a run of ${count(tokensIn(own.tokens) ?? 1e9)} ${unit}` : title}
        file={`compare-${own.by}`}
        columns={columns(own.by, unit)}
        rows={rows}
        note={
          <>
            Whiskers are 80 % intervals.{' '}
            {tooSmall.length > 0 && (
              <>
                {tooSmall.join(', ')} {tooSmall.length === 1 ? 'does' : 'do'} not hold it (faint): <a href={forecastLink}>what would make it fit</a>.{' '}
              </>
            )}
            {without.length > 0 && (own.by === 'cost' || own.by === 'run') && (
              <>No price is known of {without.map((card) => card.name).join(', ')}: give one below. </>
            )}
            {own.by === 'energy' &&
              'By the law of power and clocks; “at most”: the board’s limit, where no card of the vendor was metered.'}
          </>
        }
      >
        <div class="toolbar">
          <Tabs
            label="Compare by"
            picked={own.by}
            onPick={(by) => change({ own: { by } })}
            tabs={[
              { id: 'time', title: 'Time' },
              { id: 'rate', title: 'Throughput' },
              { id: 'cost', title: `$ per million ${unit}` },
              { id: 'run', title: '$ per run' },
              { id: 'energy', title: 'Energy' },
            ]}
          />
          <label class="inline">
            <input
              type="checkbox"
              checked={own.sorted}
              onChange={(event) => change({ own: { sorted: event.currentTarget.checked } })}
            />{' '}
            best first
          </label>
          {own.by === 'run' && (
            <label class="inline">
              {unit} of the run{' '}
              <input
                type="text"
                class="numeric"
                value={own.tokens}
                onInput={(event) => change({ own: { tokens: event.currentTarget.value } })}
              />
            </label>
          )}
        </div>
        <IntervalBars
          label={`${title} by card`}
          text={text}
          title={axis}
          bars={rows.map((row) => ({
            name: row.name,
            value: row.figures.value,
            interval: row.figures.interval,
            colour: row.hypothetical ? 1 : 0,
            faint: row.step.fits === false,
            note: [row.note, seenMark(row.step.seen), row.step.fits === false ? 'does not fit' : '']
              .filter(Boolean)
              .join(', '),
            more: [
              `${milliseconds(row.step.step_ms)} a step, ${grouped((row.step.units / row.step.step_ms) * 1e3)} ${unit}/s${limitOf(row.step)}`,
              `${row.price === undefined ? 'no price' : `${dollars(row.price)} an hour`}, ${row.power} W at most`,
              ...(best && best !== row ? [`${times(row.figures.value / best.figures.value)} of ${best.name}`] : []),
            ],
          }))}
        />
        <Effect rows={rows} own={own} unit={unit} />
      </Figure>
    </>
  );
}

// What the changes do, in words, beside the parent.
function Effect({ rows, own, unit }: { rows: Row[]; own: Own; unit: Unit }) {
  const { text } = titleOf(own.by, unit);
  const changed = rows.find((row) => row.hypothetical),
    parent = rows.find((row) => row.key === own.like && !row.hypothetical);
  if (!changed || !parent) return changed ? <p class="quiet">Add {own.like} to the cards to see both side by side.</p> : null;
  const ratio = changed.figures.value / parent.figures.value;
  return (
    <p role="status">
      <strong>{changed.name}</strong>: {times(ratio)} of {parent.name} ({text(parent.figures.value)} →{' '}
      {text(changed.figures.value)}); a step is {times(parent.step.step_ms / changed.step.step_ms)} as fast.
    </p>
  );
}

function Sliders({ cards, own, change }: PartProps) {
  const setPrice = (key: string, value: number) => change({ own: { prices: { ...own.prices, [key]: value } } });
  const setPower = (card: Card, value: number) => {
    const { [card.key]: _, ...rest } = own.powers;
    change({ own: { powers: value === card.limit ? rest : { ...rest, [card.key]: value } } });
  };
  return (
    <section class="panel" aria-label="Prices and power limits">
      <div class="figurehead">
        <h2>Prices and power limits</h2>
        <button
          type="button"
          disabled={Object.keys(own.prices).length + Object.keys(own.powers).length === 0}
          onClick={() => change({ own: { prices: {}, powers: {} } })}
        >
          As listed
        </button>
      </div>
      <div class="cards">
        {cards.map((card) => (
          <fieldset key={card.key}>
            <legend>{card.key}</legend>
            <label>
              {card.price === undefined ? 'no price known' : `${dollars(card.price)} an hour`}{' '}
              <small>{card.price !== card.listed ? 'your own' : card.source}</small>
              <input
                type="range"
                min={0.1}
                max={15}
                step={0.05}
                value={card.price ?? 0.1}
                aria-label={`${card.key}: dollars an hour`}
                onInput={(event) => setPrice(card.key, Number(event.currentTarget.value))}
              />
            </label>
            {!card.hypothetical && card.limit > 0 && (
              <label>
                {card.power} W <small>{card.power === card.limit ? 'the board’s limit' : `of ${card.limit} W`}</small>
                <input
                  type="range"
                  min={Math.round(card.limit * 0.4)}
                  max={card.limit}
                  step={5}
                  value={card.power}
                  aria-label={`${card.key}: watts at most`}
                  onInput={(event) => setPower(card, Math.min(card.limit, Number(event.currentTarget.value)))}
                />
              </label>
            )}
          </fieldset>
        ))}
      </div>
    </section>
  );
}
