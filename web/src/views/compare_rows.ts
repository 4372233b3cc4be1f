// Cards to compare and what they come to: by time, throughput, money and energy.
import { type Changes, descriptionOf } from '../cards';
import { type Figures, costOf, energyOf, rateOf, timeOf } from '../costs';
import type { ComparedStep } from '../documents';
import { dollars, grouped, joules, milliseconds, seenText } from '../format';
import type { GpuSummary } from '../forms/gpus';
import { type Column, figure } from '../table';

export const measures = ['time', 'rate', 'cost', 'run', 'energy'] as const;
export type Measure = (typeof measures)[number];

export interface Card {
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
export type Row = Card & { step: ComparedStep; figures: Figures; note: string };

const suffixes: Record<string, number> = { k: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 };
export function tokensIn(given: string): number | undefined {
  const match = /^\s*([\d.]+(?:e\d+)?)\s*([kMBGT])?\s*$/.exec(given);
  return match ? Number(match[1]) * (suffixes[match[2] ?? ''] ?? 1) : undefined;
}

export function cardsOf(
  names: string[],
  known: GpuSummary[],
  own: { prices: Record<string, number>; powers: Record<string, number>; like: string; changes: Changes },
): Card[] {
  const about = (name: string) => known.find((gpu) => gpu.name === name);
  const cards = names.map((key): Card => {
    const listed = about(key)?.usd_per_hour ?? undefined,
      limit = about(key)?.power_w ?? 0,
      power = own.powers[key] ?? limit;
    const capped = power !== limit && limit > 0;
    const name = capped ? `${key}-${power}W` : key;
    return {
      key,
      name,
      asked: capped ? descriptionOf(key, name, { power_w: power }) : key,
      listed,
      price: own.prices[key] ?? listed,
      power,
      limit,
      source: about(key)?.price_source ?? '',
      hypothetical: false,
    };
  });
  if (own.like && Object.keys(own.changes).length > 0) {
    const name = `${own.like}-changed`,
      parent = about(own.like);
    const limit = Number(own.changes.power_w ?? parent?.power_w ?? 0);
    cards.push({
      key: name,
      name,
      asked: descriptionOf(own.like, name, own.changes),
      listed: parent?.usd_per_hour ?? undefined,
      price: own.prices[name] ?? own.prices[own.like] ?? parent?.usd_per_hour ?? undefined,
      power: limit,
      limit,
      source: `as ${own.like}`,
      hypothetical: true,
    });
  }
  return cards;
}

function figuresOf(card: Card, step: ComparedStep, by: Measure, tokens: number): { figures: Figures; note: string } | undefined {
  if (by === 'time') return { figures: timeOf(step), note: '' };
  if (by === 'rate') return { figures: rateOf(step), note: '' };
  if (by === 'energy') {
    const { atMost, ...figures } = energyOf(step, card.power);
    return { figures, note: atMost ? 'at most' : '' };
  }
  return card.price === undefined ? undefined : { figures: costOf(step, card.price, by === 'run' ? tokens : 1e6), note: '' };
}

// What is counted: tokens, or whole steps where a recorded program is compared.
export type Unit = 'tokens' | 'steps';
interface Titled {
  title: string;
  axis: string;
  text: (value: number) => string;
}
export function titleOf(by: Measure, unit: Unit): Titled {
  const one: Record<Measure, Titled> = {
    time: { title: 'Time of a step', axis: 'time of a step', text: milliseconds },
    rate: { title: unit === 'tokens' ? 'Tokens a second' : 'Steps a second', axis: `${unit}/s`, text: grouped },
    cost: { title: `Cost of a million ${unit}`, axis: `$ per million ${unit}`, text: dollars },
    run: { title: 'Cost of a run', axis: '$', text: dollars },
    energy: { title: `Energy of a million ${unit}`, axis: `joules per million ${unit}, of the GPU alone`, text: joules },
  };
  return one[by];
}

export const columns = (by: Measure, unit: Unit): Column<Row>[] => {
  const { axis, text } = titleOf(by, unit);
  return [
    { name: 'GPU', value: (row) => row.name },
    figure(axis, (row) => row.figures.value, text),
    figure('80 % low', (row) => row.figures.interval[0], text),
    figure('high', (row) => row.figures.interval[1], text),
    figure('step (ms)', (row) => row.step.step_ms, milliseconds),
    figure(`${unit}/s`, (row) => (row.step.units / row.step.step_ms) * 1e3, grouped),
    figure('$ an hour', (row) => row.price, dollars),
    figure('power limit (W)', (row) => row.power),
    { name: 'fits', value: (row) => row.step.fits, text: (row) => (row.step.fits === false ? 'no' : 'yes') },
    { name: 'seen', value: (row) => seenText(row.step.seen) },
  ];
};

export type Own = {
  by: Measure;
  sorted: boolean;
  prices: Record<string, number>;
  powers: Record<string, number>;
  tokens: string;
  like: string;
  changes: Changes;
};

export function rowsOf(cards: Card[], steps: ComparedStep[], own: Own): Row[] {
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
