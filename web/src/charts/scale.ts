// Positions of values along an axis, and the round values to write beside it.

export interface Scale {
  at(value: number): number;
  ticks: number[];
  low: number;
  high: number;
}

const steps = [1, 2, 2.5, 5, 10];

export function linear(low: number, high: number, from: number, to: number, wanted = 5): Scale {
  const span = high > low ? high - low : Math.abs(high) || 1;
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (steps.find((one) => one * power >= rough * 0.999) ?? 10) * power;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= low + span * (1 + 1e-9); ++i) ticks.push(Number((i * step).toPrecision(12)));
  return { at: (value) => from + ((value - low) / span) * (to - from), ticks, low, high: low + span };
}

// Of amounts of data: round in KiB, MiB or GiB rather than in bytes.
export function binary(low: number, high: number, from: number, to: number, wanted = 5): Scale {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, high)) / Math.log(1024)));
  const scale = linear(low / unit, high / unit, from, to, wanted);
  return { at: (value) => scale.at(value / unit), ticks: scale.ticks.map((tick) => tick * unit), low, high: scale.high * unit };
}

// Powers of ten, or of two where `base` says so; thinned to what is wanted.
export function logarithmic(low: number, high: number, from: number, to: number, wanted = 6, base = 10): Scale {
  const bottom = Math.max(low, Number.MIN_VALUE), top = Math.max(high, bottom * 1.0001);
  const first = Math.ceil(Math.log(bottom) / Math.log(base) - 1e-9), last = Math.floor(Math.log(top) / Math.log(base) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / wanted));
  let ticks: number[] = [];
  for (let power = first; power <= last; power += every) ticks.push(base ** power);
  if (ticks.length < 3 && base === 10)
    ticks = [1, 2, 5].flatMap((digit) => Array.from({ length: last - first + 3 }, (_, i) => digit * 10 ** (first - 1 + i)))
      .filter((tick) => tick >= bottom * 0.999 && tick <= top * 1.001).sort((a, b) => a - b);
  const span = Math.log(top / bottom);
  return {
    at: (value) => from + (Math.log(Math.max(value, bottom * 1e-3) / bottom) / span) * (to - from),
    ticks, low: bottom, high: top,
  };
}

export const largest = (values: number[]): number => values.reduce((most, value) => (Number.isFinite(value) && value > most ? value : most), 0);
export const least = (values: number[]): number => values.reduce((low, value) => (Number.isFinite(value) && value < low ? value : low), Infinity);
