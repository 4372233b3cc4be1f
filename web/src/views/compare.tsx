// Cards side by side: time, throughput, money and energy, with prices and power limits of one's own.
import { useMemo } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Query } from '../api';
import type { Changes } from '../cards';
import { IntervalBars } from '../charts/bars';
import type { Step } from '../documents';
import { Figure } from '../figure';
import { count, dollars, grouped, milliseconds, seenMark, times } from '../format';
import { ArgumentForm } from '../forms/form';
import { GpusPicker, useGpus } from '../forms/gpus';
import { ModelPicker } from '../forms/model';
import { queryOf } from '../forms/query';
import { flag, json, oneOf, text } from '../link';
import { Busy, Commands, ErrorNote, Inputs, Tabs } from '../parts';
import { useLinkState } from '../state';
import { type Card, type Own, type Row, cardsOf, columns, measures, rowsOf, titles, tokensIn } from './compare_rows';
import { Hypothetical } from './hypothetical';

export const fields = {
  by: oneOf(measures, 'cost'),
  sorted: flag(true),
  prices: json<Record<string, number>>({}), // dollars an hour, in place of the list's
  powers: json<Record<string, number>>({}), // watts, in place of the board's limit
  tokens: text('1B'), // of a run
  like: text(), // parent of the card that does not exist
  changes: json<Changes>({}),
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
  const question = useQuestion('predict');
  const known = useGpus();
  const names = (args.gpu ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  const cards = cardsOf(names, known, own);
  const query: Query = useMemo(() => {
    const { gpu: _, ...rest } = args;
    const asked = cards.map((card) => card.asked);
    return { ...queryOf(rest, question?.arguments ?? []), gpu: asked.length === 1 ? asked[0] : asked };
  }, [args, JSON.stringify(cards), question]);
  const { answer, error, busy } = useAnswer<Step[]>('predict', query.model && cards.length ? query : undefined);
  return (
    <div class="split">
      <Inputs label="What to compare" summary={`${args.model ?? ''}, ${args.mode ?? 'prefill'}, ${names.join(', ')}`}>
        <ModelPicker
          value={args.model ?? ''}
          given={undefined}
          onName={(model) => change({ args: { model } })}
          onGiven={() => undefined}
          namesOnly
        />
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu } })} />
        <ArgumentForm
          declared={question?.arguments}
          values={args}
          onChange={(values) => change({ args: values })}
          error={error}
          main={['mode', 'batch', 'seq', 'context', 'dtype', 'engine']}
          skip={['model', 'gpu', 'cluster']}
        />
      </Inputs>
      <div class="results" aria-busy={busy}>
        <ErrorNote error={error} />
        {!answer && <Busy busy={busy} />}
        {answer && <Bars cards={cards} steps={answer} own={own} change={change} />}
        <Sliders cards={cards} own={own} change={change} />
        <Hypothetical like={own.like} changes={own.changes} onChange={(given) => change({ own: given })} />
        <Commands question={question} query={query} />
      </div>
    </div>
  );
}

interface PartProps {
  cards: Card[];
  own: Own;
  change: (given: { own: Partial<Own> }) => void;
}

function Bars({ cards, steps, own, change }: PartProps & { steps: Step[] }) {
  const rows = rowsOf(cards, steps, own),
    { title, axis, text } = titles[own.by];
  const without = cards.filter((card) => !rows.some((row) => row.name === card.name));
  const best = rows[0];
  const failed = steps.filter((step) => step.error);
  return (
    <>
      {failed.map((step) => (
        <div class="error" role="status">
          <strong>{step.gpu}</strong>: {step.error}
        </div>
      ))}
      <Figure
        title={own.by === 'run' ? `Cost of a run of ${count(tokensIn(own.tokens) ?? 1e9)} tokens` : title}
        file={`compare-${own.by}`}
        columns={columns(own.by)}
        rows={rows}
        note={
          <>
            Whiskers are 80 % intervals.{' '}
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
              { id: 'cost', title: '$ per million tokens' },
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
              tokens of the run{' '}
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
            faint: row.step.memory_bytes?.fits === false,
            note: [row.note, seenMark(row.step.seen), row.step.memory_bytes?.fits === false ? 'does not fit' : '']
              .filter(Boolean)
              .join(', '),
            more: [
              `${milliseconds(row.step.step_ms)} a step, ${grouped(row.step.tokens_per_second)} tokens/s, limited by ${row.step.host_bound ? 'the host' : row.step.limited_by}`,
              `${row.price === undefined ? 'no price' : `${dollars(row.price)} an hour`}, ${row.power} W at most`,
              ...(best && best !== row ? [`${times(row.figures.value / best.figures.value)} of ${best.name}`] : []),
            ],
          }))}
        />
        <Effect rows={rows} own={own} />
      </Figure>
    </>
  );
}

// What the changes do, in words, beside the parent.
function Effect({ rows, own }: { rows: Row[]; own: Own }) {
  const changed = rows.find((row) => row.hypothetical),
    parent = rows.find((row) => row.key === own.like && !row.hypothetical);
  if (!changed || !parent) return changed ? <p class="quiet">Add {own.like} to the cards to see both side by side.</p> : null;
  const ratio = changed.figures.value / parent.figures.value;
  return (
    <p role="status">
      <strong>{changed.name}</strong>: {times(ratio)} of {parent.name} ({titles[own.by].text(parent.figures.value)} →{' '}
      {titles[own.by].text(changed.figures.value)}); a step is {times(parent.step.step_ms / changed.step.step_ms)} as fast.
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
