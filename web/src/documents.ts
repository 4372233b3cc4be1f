// Answers as docs/json.md describes them: what the views read of them.
import type { Interval } from './api';

export interface MemoryBytes {
  weights: number;
  gradients: number;
  optimizer: number;
  activations: number;
  cache: number;
  workspace: number;
  total: number;
  usable: number;
  fits: boolean;
  cache_room_tokens?: number;
}

export interface StepKernel {
  name: string;
  section: string;
  pass: string;
  class: string;
  family: string;
  dtype: string;
  dims: Record<string, string>;
  times: number;
  latency_us: number;
  interval_us: Interval;
  ceiling_us: number;
  bound_us: number;
  limited_by: string;
  seen: string;
  unknown: boolean;
}

export interface Step {
  model: string;
  gpu: string;
  mode: string;
  engine: string;
  dtype: string;
  cluster?: string;
  gpus?: number;
  error?: string;
  step_ms: number;
  interval_ms: Interval;
  ceiling_ms?: number;
  bound_ms: number;
  gpu_ms?: number;
  host_ms?: number;
  tokens_per_second: number;
  mfu: number;
  energy_j?: number | null;
  limited_by?: string | null;
  host_bound?: boolean;
  seen: string | boolean;
  memory_bytes?: MemoryBytes;
  stages?: { memory_bytes: MemoryBytes; usable_bytes: number }[];
  largest_batch?: number;
  longest_sequence?: number;
  notes?: string[];
  kernels?: StepKernel[];
}

export interface ProgramPart {
  name: string;
  time_ms: number;
  calls: number;
  launches: number;
  known?: boolean;
}
export interface ProgramStep {
  program: string;
  torch: string;
  gpu: string;
  engine: string;
  error?: string;
  step_ms: number;
  interval_ms: Interval;
  bound_ms: number;
  kernels_ms: number;
  gpu_ms: number;
  host_ms: number;
  host_bound: boolean;
  calls: number;
  launches: number;
  mfu: number;
  seen: string;
  recognised: number;
  phases: ProgramPart[];
  classes: ProgramPart[];
  operators: ProgramPart[];
  unknown: ProgramPart[];
  modules: { path: string; forward_ms: number; backward_ms: number; own_ms: number }[];
  memory_bytes: { peak: number; resting: number; reserved: number; card: number; fits: boolean; peak_module: string; over_calls: [number, number][] };
}

export interface Resources {
  tensor: number;
  vector: number;
  xu: number;
  shared_memory: number;
  l2: number;
  dram: number;
  launch: number;
  latency: number;
}
export interface Launch {
  name: string;
  latency_us: number;
  bound_us: number;
  limited_by: string;
  plan: { tile: [number, number, number]; split: number; ctas: number; threads: number; ctas_per_sm: number; waves: number; known: boolean };
  schedule?: { dispatch: string; sms_used: number; tasks_busiest: number; balance: number };
  roofline?: { ops_per_byte: number; reached_ops_per_s: number; peak_ops_per_s: number; feed_bytes_per_s: number; feed: 'dram' | 'l2' } | null;
  demand: Record<'tensor_ops' | 'vector_ops' | 'xu_ops' | 'shared_bytes' | 'l2_load_bytes' | 'l2_store_bytes' | 'dram_load_bytes' | 'dram_store_bytes', number>;
  peak_us: Resources;
  forecast_us: Resources;
}
export interface KernelForecast {
  gpu: string;
  sms?: number;
  kernel: { family: string; dtype: string; dims: Record<string, string> };
  method: string;
  latency_us: number;
  ceiling_us: number;
  interval_us: Interval;
  bound_us: number;
  limited_by: string;
  efficiency: number;
  seen: string; // yes, sibling, no or calibrated
  breakdown: Launch[];
}

// Steps of both kinds as those that compare them read them. A recorded program counts no tokens: its own step is the unit.
export type ComparedStep = Pick<Step, 'gpu' | 'error' | 'step_ms' | 'interval_ms' | 'seen' | 'gpus' | 'energy_j' | 'host_bound' | 'limited_by'> & {
  units: number; // tokens of a step; 1: it is counted in steps
  fits: boolean | undefined;
};
export const isProgram = (row: Step | ProgramStep): row is ProgramStep => 'program' in row;
export const comparedStep = (row: Step | ProgramStep): ComparedStep =>
  isProgram(row)
    ? { ...row, units: 1, fits: row.memory_bytes?.fits }
    : { ...row, units: (row.tokens_per_second * row.step_ms) / 1e3, fits: row.memory_bytes?.fits };

// What several variants of a step differ by, so that rows can be told apart.
export function variantNames(steps: (Pick<Step, 'gpu' | 'engine'> & Partial<Pick<Step, 'cluster' | 'dtype'>>)[]): string[] {
  const several = (of: (step: (typeof steps)[number]) => string | undefined) => new Set(steps.map(of)).size > 1;
  const engines = several((step) => step.engine), types = several((step) => step.dtype);
  return steps.map((step) => [step.cluster ?? step.gpu, ...(engines ? [step.engine] : []), ...(types && step.dtype ? [step.dtype] : [])].join(' '));
}
