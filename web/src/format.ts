// Quantities as text, in the one unit system that the command line's tables use (cli/terminal/units_text.cpp): three
// digits, memory and data in powers of 1024, rates in powers of 1000.

const decimal = ['', 'k', 'M', 'G', 'T', 'P'];
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

// C's %.2g, as fmt writes it.
function twoSignificant(value: number): string {
  const [mantissa = '0', exponent = '0'] = value.toExponential(1).split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 2) return String(Number(value.toPrecision(2)));
  const sign = power < 0 ? '-' : '+';
  return `${Number(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

export function threeDigits(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return '0';
  if (magnitude >= 99.95) return value.toFixed(0);
  if (magnitude >= 9.995) return value.toFixed(1);
  if (magnitude >= 0.0095) return value.toFixed(2);
  return twoSignificant(value);
}

export function grouped(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

function withPrefix(value: number, unit: string, prefixes: string[], step: number): string {
  let amount = Math.abs(value) < 0.005 ? 0 : value;
  let index = 0;
  while (Math.abs(amount) >= step - 0.5 && index + 1 < prefixes.length) {
    amount /= step;
    ++index;
  }
  return `${threeDigits(amount)} ${prefixes[index]}${unit}`;
}

export function microseconds(us: number): string {
  if (!Number.isFinite(us)) return '–';
  if (us < 0.5e-5) return '0';
  if (us < 0.9995) return `${threeDigits(us * 1e3)} ns`;
  if (us < 999.5) return `${threeDigits(us)} µs`;
  if (us < 999.5e3) return `${threeDigits(us / 1e3)} ms`;
  const minute = 60, hour = 3600, day = 86400;
  const s = us / 1e6;
  if (s < 2 * minute) return `${threeDigits(s)} s`;
  if (s < 2 * hour) return `${threeDigits(s / minute)} minutes`;
  if (s < 2 * day) return `${threeDigits(s / hour)} hours`;
  return `${s < 999.5 * day ? threeDigits(s / day) : grouped(s / day)} days`;
}
export const milliseconds = (ms: number): string => microseconds(ms * 1e3);
export const seconds = (s: number): string => microseconds(s * 1e6);
export const days = (d: number): string => seconds(d * 86400);

export const bytes = (amount: number): string => withPrefix(amount, 'B', binary, 1024);
export const bytesPerSecond = (rate: number): string => withPrefix(rate, 'B/s', decimal, 1000);
export const operations = (count: number): string => withPrefix(count, 'op', decimal, 1000);
export const operationsPerSecond = (rate: number): string => withPrefix(rate, 'op/s', decimal, 1000);
export const watts = (power: number): string => withPrefix(power, 'W', decimal, 1000);
// Energy is small where it is of one step and large where it is of a training.
export const joules = (energy: number): string =>
  energy < 0.9995 && energy > 0 ? `${threeDigits(energy * 1e3)} mJ` : withPrefix(energy, 'J', decimal, 1000);

export function percent(share: number): string {
  if (!Number.isFinite(share)) return '–';
  return `${(Math.abs(share) < 0.005 ? 0 : share * 100).toFixed(0)} %`;
}

export function count(value: number): string {
  const suffixes = ['', ' k', ' M', ' B', ' T'];
  let amount = value;
  let index = 0;
  while (Math.abs(amount) >= 999.5 && index + 1 < suffixes.length) {
    amount /= 1000;
    ++index;
  }
  if (Math.abs(amount) >= 999.5) return grouped(amount) + suffixes[index];
  return Number(amount.toPrecision(3)).toString() + suffixes[index];
}

export function dollars(amount: number): string {
  if (!Number.isFinite(amount)) return '–';
  if (amount >= 999.995) return `$${grouped(amount)}`;
  if (amount >= 0.0995 || amount === 0) return `$${amount.toFixed(2)}`;
  return `$${twoSignificant(amount)}`;
}

export const interval = (ends: readonly [number, number], text: (value: number) => string): string =>
  `${text(ends[0])} – ${text(ends[1])}`;

export const times = (ratio: number): string => `${ratio.toFixed(2)}×`;

// What a forecast rests on, in the CLI's words; kernels say yes/no, steps say a word.
export function seenText(seen: boolean | string): string {
  return seen === true ? 'yes' : seen === false ? 'no' : seen;
}
// The same as a mark beside a figure.
export function seenMark(seen: boolean | string): string {
  const marks: Record<string, string> = { yes: 'seen', no: 'not seen', sibling: 'sibling seen' };
  return marks[seenText(seen)] ?? seenText(seen);
}
export const seenMeaning: Record<string, string> = {
  yes: 'The weights were trained on measurements of this kind of card.',
  sibling: 'The weights were trained on measurements of a card of the same architecture.',
  no: 'No measurement of this card was trained on: physics and what other cards taught.',
  calibrated: 'Measurements of this very card were fitted.',
};

// Seconds that a text like "500ms", "30 s" or "10us" says; milliseconds where it names no unit.
export function millisecondsOf(text: string): number | undefined {
  const match = /^\s*([\d.]+(?:e[+-]?\d+)?)\s*(us|µs|ms|s|min|h)?\s*$/i.exec(text);
  if (!match) return undefined;
  const scale: Record<string, number> = { us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, min: 6e4, h: 3.6e6 };
  return Number(match[1]) * (scale[(match[2] ?? 'ms').toLowerCase()] ?? NaN);
}
