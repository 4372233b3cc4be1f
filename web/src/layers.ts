// A step's kernels as the graph of one layer: sections in order (embedding, layer × 32, head), their operators in
// order, each operator's kernels.
import type { StepKernel } from './documents';

export interface Operator {
  name: string; // within its block: "q+k+v"
  block: string; // "attention"; '' where it stands alone
  class: string;
  kernels: StepKernel[];
  time_us: number; // of the whole step, all layers
  share: number; // of the step
  limited_by: string; // of most of its time
}
export interface Section {
  name: string;
  pass: string;
  repeats: number;
  operators: Operator[];
  time_us: number;
  share: number;
}

const timeOf = (kernel: StepKernel): number => kernel.latency_us * kernel.times;

// The first part of a name is a block of operators where it computes products among other things (attention.q,
// attention.rope), and an operator by itself elsewhere (mixer_norm.pow, mixer_norm.mean).
const heavy = ['linear', 'attention', 'experts', 'convolution', 'scan'];
function blocksOf(kernels: StepKernel[]): Set<string> {
  const classes = new Map<string, Set<string>>();
  for (const kernel of kernels) {
    const [first = '', ...rest] = kernel.name.split('.');
    if (rest.length === 0) continue;
    const known = classes.get(first) ?? new Set();
    classes.set(first, known.add(kernel.class));
  }
  return new Set([...classes].filter(([, kinds]) => kinds.size > 1 && heavy.some((kind) => kinds.has(kind))).map(([name]) => name));
}

function limitOf(kernels: StepKernel[]): string {
  const times = new Map<string, number>();
  for (const kernel of kernels) times.set(kernel.limited_by, (times.get(kernel.limited_by) ?? 0) + timeOf(kernel));
  return [...times].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}

function operatorsOf(kernels: StepKernel[], whole: number): Operator[] {
  const blocks = blocksOf(kernels);
  const operators: Operator[] = [];
  for (const kernel of kernels) {
    const parts = kernel.name.split('.');
    const block = blocks.has(parts[0]!) ? parts[0]! : '';
    const name = block ? (parts[1] ?? parts[0]!) : parts[0]!;
    const last = operators[operators.length - 1];
    if (last && last.name === name && last.block === block) last.kernels.push(kernel);
    else operators.push({ name, block, class: kernel.class, kernels: [kernel], time_us: 0, share: 0, limited_by: '' });
  }
  for (const operator of operators) {
    operator.time_us = operator.kernels.reduce((sum, kernel) => sum + timeOf(kernel), 0);
    operator.share = whole > 0 ? operator.time_us / whole : 0;
    operator.limited_by = limitOf(operator.kernels);
  }
  return operators;
}

export function sectionsOf(kernels: StepKernel[]): Section[] {
  const whole = kernels.reduce((sum, kernel) => sum + timeOf(kernel), 0);
  const grouped = new Map<string, StepKernel[]>();
  for (const kernel of kernels) {
    const key = `${kernel.pass}\n${kernel.section}`;
    grouped.set(key, [...(grouped.get(key) ?? []), kernel]);
  }
  return [...grouped].map(([key, own]) => {
    const [pass = '', name = ''] = key.split('\n');
    const operators = operatorsOf(own, whole);
    const time_us = operators.reduce((sum, operator) => sum + operator.time_us, 0);
    return { name, pass, repeats: Math.min(...own.map((kernel) => kernel.times)), operators, time_us, share: whole > 0 ? time_us / whole : 0 };
  });
}
