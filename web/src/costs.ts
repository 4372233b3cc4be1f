// What a step's time means in money and energy. Intervals follow from the time's.
import type { ComparedStep } from './documents';

export type Ends = [number, number];
export interface Figures {
  value: number;
  interval: Ends;
}

const hour = 3600, million = 1e6;
const over = (step: ComparedStep, value: (ms: number) => number): Figures => {
  const ends = [value(step.interval_ms[0]), value(step.interval_ms[1])];
  return { value: value(step.step_ms), interval: [Math.min(...ends), Math.max(...ends)] };
};

export const timeOf = (step: ComparedStep): Figures => over(step, (ms) => ms);
export const rateOf = (step: ComparedStep): Figures => over(step, (ms) => (step.units / ms) * 1e3);
// Dollars for so many tokens (steps, of a recorded program), at a price an hour and GPU.
export const costOf = (step: ComparedStep, usdPerHour: number, tokens = million): Figures =>
  over(step, (ms) => ((ms / 1e3) * (tokens / step.units) * usdPerHour * (step.gpus ?? 1)) / hour);

// Joules for a million tokens: by the law of power where the card's kind was metered, at most the board's limit
// elsewhere. A longer step at the same work takes more by what the card draws meanwhile, so the interval follows the time.
export function energyOf(step: ComparedStep, limit: number, tokens = million): Figures & { atMost: boolean } {
  const atMost = step.energy_j === null || step.energy_j === undefined;
  const watts = atMost ? limit * (step.gpus ?? 1) : (step.energy_j! / step.step_ms) * 1e3;
  return { ...over(step, (ms) => (ms / 1e3) * (tokens / step.units) * watts), atMost };
}
