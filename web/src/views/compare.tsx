// Cards side by side: time, throughput, money and energy, with prices and power limits of one's own.
import { useMemo } from 'preact/hooks';
import { useAnswer, useQuestion } from '../answer';
import type { Query } from '../api';
import { type Changes, descriptionOf } from '../cards';
import { IntervalBars } from '../charts/bars';
import { type Figures, costOf, energyOf, rateOf, timeOf } from '../costs';
import type { Step } from '../documents';
import { Figure } from '../figure';
import { count, dollars, grouped, joules, milliseconds, seenMark, seenText, times } from '../format';
import { ArgumentForm } from '../forms/form';
import { type GpuSummary, GpusPicker, useGpus } from '../forms/gpus';
import { ModelPicker } from '../forms/model';
import { queryOf } from '../forms/query';
import { flag, json, oneOf, text } from '../link';
import { Busy, Commands, ErrorNote, Inputs, Tabs } from '../parts';
import { useLinkState } from '../state';
import type { Column } from '../table';
import { Hypothetical } from './hypothetical';

const measures = ['time', 'rate', 'cost', 'run', 'energy'] as const;
type Measure = (typeof measures)[number];

export const fields = {
  by: oneOf(measures, 'cost'),
  sorted: flag(true),
  prices: json<Record<string, number>>({}), // dollars an hour, in place of the list's
  powers: json<Record<string, number>>({}), // watts, in place of the board's limit
  tokens: text('1B'), // of a run
  like: text(), // parent of the card that does not exist
  changes: json<Changes>({}),
};
export const opening = { model: 'Llama-3.1-8B', gpu: 'A100-SXM-80GB,L40S,H100-SXM,H200-SXM,B200,MI300X', mode: 'decode', batch: '64', context: '2048' };

interface Card {
  key: string; // whose price and power it is
  asked: string | Record<string, unknown>;
  name: string;
  price: number | undefined;
  listed: number | undefined;
  power: number;
  limit: number; // as built
  source: string;
  hypothetical: boolean;
}
type Row = Card & { step: Step; figures: Figures; note: string };

const suffixes: Record<string, number> = { k: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 };
export function tokensIn(given: string): number | undefined {
  const match = /^\s*([\d.]+(?:e\d+)?)\s*([kMBGT])?\s*$/.exec(given);
  return match ? Number(match[1]) * (suffixes[match[2] ?? ''] ?? 1) : undefined;
}

function cardsOf(names: string[], known: GpuSummary[], own: { prices: Record<string, number>; powers: Record<string, number>; like: string; changes: Changes }): Card[] {
  const about = (name: string) => known.find((gpu) => gpu.name === name);
  const cards = names.map((key): Card => {
    const listed = about(key)?.usd_per_hour ?? undefined, limit = about(key)?.power_w ?? 0, power = own.powers[key] ?? limit;
    const capped = power !== limit && limit > 0;
    const name = capped ? `${key}-${power}W` : key;
    return { key, name, asked: capped ? descriptionOf(key, name, { power_w: power }) : key, listed, price: own.prices[key] ?? listed, power, limit, source: about(key)?.price_source ?? '', hypothetical: false };
  });
  if (own.like && Object.keys(own.changes).length > 0) {
    const name = `${own.like}-changed`, parent = about(own.like);
    const limit = Number(own.changes.power_w ?? parent?.power_w ?? 0);
    cards.push({ key: name, name, asked: descriptionOf(own.like, name, own.changes), listed: parent?.usd_per_hour ?? undefined, price: own.prices[name] ?? own.prices[own.like] ?? parent?.usd_per_hour ?? undefined,
      power: limit, limit, source: `as ${own.like}`, hypothetical: true });
  }
  return cards;
}

function figuresOf(card: Card, step: Step, by: Measure, tokens: number): { figures: Figures; note: string } | undefined {
  if (by === 'time') return { figures: timeOf(step), note: '' };
  if (by === 'rate') return { figures: rateOf(step), note: '' };
  if (by === 'energy') {
    const { atMost, ...figures } = energyOf(step, card.power);
    return { figures, note: atMost ? 'at most' : '' };
  }
  return card.price === undefined ? undefined : { figures: costOf(step, card.price, by === 'run' ? tokens : 1e6), note: '' };
}

const titles: Record<Measure, { title: string; axis: string; text: (value: number) => string }> = {
  time: { title: 'Time of a step', axis: 'time of a step', text: milliseconds },
  rate: { title: 'Tokens a second', axis: 'tokens/s', text: grouped },
  cost: { title: 'Cost of a million tokens', axis: '$ per million tokens', text: dollars },
  run: { title: 'Cost of a run', axis: '$', text: dollars },
  energy: { title: 'Energy of a million tokens', axis: 'joules per million tokens, of the GPU alone', text: joules },
};

const columns = (by: Measure): Column<Row>[] => [
  { name: 'GPU', value: (row) => row.name },
  { name: titles[by].axis, number: true, value: (row) => row.figures.value, text: (row) => titles[by].text(row.figures.value) },
  { name: '80 % low', number: true, value: (row) => row.figures.interval[0], text: (row) => titles[by].text(row.figures.interval[0]) },
  { name: 'high', number: true, value: (row) => row.figures.interval[1], text: (row) => titles[by].text(row.figures.interval[1]) },
  { name: 'step (ms)', number: true, value: (row) => row.step.step_ms, text: (row) => milliseconds(row.step.step_ms) },
  { name: 'tokens/s', number: true, value: (row) => row.step.tokens_per_second, text: (row) => grouped(row.step.tokens_per_second) },
  { name: '$ an hour', number: true, value: (row) => row.price, text: (row) => (row.price === undefined ? '–' : dollars(row.price)) },
  { name: 'power limit (W)', number: true, value: (row) => row.power },
  { name: 'fits', value: (row) => row.step.memory_bytes?.fits, text: (row) => (row.step.memory_bytes?.fits === false ? 'no' : 'yes') },
  { name: 'seen', value: (row) => seenText(row.step.seen) },
];

export function Compare() {
  const [{ args, own }, change] = useLinkState('compare', fields, opening);
  const question = useQuestion('predict');
  const known = useGpus();
  const names = (args.gpu ?? '').split(',').map((name) => name.trim()).filter(Boolean);
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
        <ModelPicker value={args.model ?? ''} given={undefined} onName={(model) => change({ args: { model } })} onGiven={() => undefined} namesOnly />
        <GpusPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu } })} />
        <ArgumentForm declared={question?.arguments} values={args} onChange={(values) => change({ args: values })} error={error} main={['mode', 'batch', 'seq', 'context', 'dtype', 'engine']} skip={['model', 'gpu', 'cluster']} />
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

type Own = { by: Measure; sorted: boolean; prices: Record<string, number>; powers: Record<string, number>; tokens: string; like: string; changes: Changes };
interface PartProps {
  cards: Card[];
  own: Own;
  change: (given: { own: Partial<Own> }) => void;
}

function rowsOf(cards: Card[], steps: Step[], own: Own): Row[] {
  const tokens = tokensIn(own.tokens) ?? 1e9;
  const rows = steps.flatMap((step): Row[] => {
    const card = cards.find((one) => one.name === step.gpu);
    const found = card && !step.error ? figuresOf(card, step, own.by, tokens) : undefined;
    return card && found ? [{ ...card, step, ...found }] : [];
  });
  if (!own.sorted) return rows;
  const up = own.by === 'rate' ? -1 : 1;
  return [...rows].sort((a, b) => up * (a.figures.value - b.figures.value));
}

function Bars({ cards, steps, own, change }: PartProps & { steps: Step[] }) {
  const rows = rowsOf(cards, steps, own), { title, axis, text } = titles[own.by];
  const without = cards.filter((card) => !rows.some((row) => row.name === card.name));
  const best = rows[0];
  const failed = steps.filter((step) => step.error);
  return (
    <>
      {failed.map((step) => <div class="error" role="status"><strong>{step.gpu}</strong>: {step.error}</div>)}
      <Figure title={own.by === 'run' ? `Cost of a run of ${count(tokensIn(own.tokens) ?? 1e9)} tokens` : title} file={`compare-${own.by}`} columns={columns(own.by)} rows={rows}
        note={<>
          Whiskers are 80 % intervals. {without.length > 0 && (own.by === 'cost' || own.by === 'run') && <>No price is known of {without.map((card) => card.name).join(', ')}: give one below. </>}
          {own.by === 'energy' && 'By the law of power and clocks; “at most”: the board’s limit, where no card of the vendor was metered.'}
        </>}>
        <div class="toolbar">
          <Tabs label="Compare by" picked={own.by} onPick={(by) => change({ own: { by } })}
            tabs={[{ id: 'time', title: 'Time' }, { id: 'rate', title: 'Throughput' }, { id: 'cost', title: '$ per million tokens' }, { id: 'run', title: '$ per run' }, { id: 'energy', title: 'Energy' }]} />
          <label class="inline"><input type="checkbox" checked={own.sorted} onChange={(event) => change({ own: { sorted: event.currentTarget.checked } })} /> best first</label>
          {own.by === 'run' && <label class="inline">tokens of the run <input type="text" class="numeric" value={own.tokens} onInput={(event) => change({ own: { tokens: event.currentTarget.value } })} /></label>}
        </div>
        <IntervalBars label={`${title} by card`} text={text} title={axis}
          bars={rows.map((row) => ({
            name: row.name, value: row.figures.value, interval: row.figures.interval, colour: row.hypothetical ? 1 : 0, faint: row.step.memory_bytes?.fits === false,
            note: [row.note, seenMark(row.step.seen), row.step.memory_bytes?.fits === false ? 'does not fit' : ''].filter(Boolean).join(', '),
            more: [`${milliseconds(row.step.step_ms)} a step, ${grouped(row.step.tokens_per_second)} tokens/s, limited by ${row.step.host_bound ? 'the host' : row.step.limited_by}`,
              `${row.price === undefined ? 'no price' : `${dollars(row.price)} an hour`}, ${row.power} W at most`, ...(best && best !== row ? [`${times(row.figures.value / best.figures.value)} of ${best.name}`] : [])],
          }))} />
        <Effect rows={rows} own={own} />
      </Figure>
    </>
  );
}

// What the changes do, in words, beside the parent.
function Effect({ rows, own }: { rows: Row[]; own: Own }) {
  const changed = rows.find((row) => row.hypothetical), parent = rows.find((row) => row.key === own.like && !row.hypothetical);
  if (!changed || !parent) return changed ? <p class="quiet">Add {own.like} to the cards to see both side by side.</p> : null;
  const ratio = changed.figures.value / parent.figures.value;
  return <p role="status"><strong>{changed.name}</strong>: {times(ratio)} of {parent.name} ({titles[own.by].text(parent.figures.value)} → {titles[own.by].text(changed.figures.value)}); a step is {times(parent.step.step_ms / changed.step.step_ms)} as fast.</p>;
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
        <button type="button" disabled={Object.keys(own.prices).length + Object.keys(own.powers).length === 0} onClick={() => change({ own: { prices: {}, powers: {} } })}>As listed</button>
      </div>
      <div class="cards">
        {cards.map((card) => (
          <fieldset key={card.key}>
            <legend>{card.key}</legend>
            <label>{card.price === undefined ? 'no price known' : `${dollars(card.price)} an hour`} <small>{card.price !== card.listed ? 'your own' : card.source}</small>
              <input type="range" min={0.1} max={15} step={0.05} value={card.price ?? 0.1} aria-label={`${card.key}: dollars an hour`} onInput={(event) => setPrice(card.key, Number(event.currentTarget.value))} />
            </label>
            {!card.hypothetical && card.limit > 0 && (
              <label>{card.power} W <small>{card.power === card.limit ? 'the board’s limit' : `of ${card.limit} W`}</small>
                <input type="range" min={Math.round(card.limit * 0.4)} max={card.limit} step={5} value={card.power} aria-label={`${card.key}: watts at most`} onInput={(event) => setPower(card, Math.min(card.limit, Number(event.currentTarget.value)))} />
              </label>
            )}
          </fieldset>
        ))}
      </div>
    </section>
  );
}
