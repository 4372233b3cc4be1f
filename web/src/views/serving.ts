// Documents of `simulate` and `plan serve`, as far as the page draws them (docs/json.md), and what is read from texts.
import type { AnswerFile, Interval } from '../api';
import { millisecondsOf } from '../format';

export type Statistic = 'mean' | 'median' | 'p90' | 'p99';
export const statistics: readonly Statistic[] = ['mean', 'median', 'p90', 'p99'];
export type Time = 'ttft' | 'tpot' | 'e2el';
export const times: readonly { id: Time; title: string; short: string }[] = [
  { id: 'ttft', title: 'Time to first token', short: 'TTFT' },
  { id: 'tpot', title: 'Time per output token', short: 'TPOT' },
  { id: 'e2el', title: 'Time of a whole request', short: 'E2E' },
];

export type Metrics = Record<`${Statistic}_${Time | 'itl' | 'queue'}_ms`, number> & {
  duration: number;
  completed: number;
  refused: number;
  cancelled: number;
  request_throughput: number;
  output_throughput: number;
  request_goodput: number | null;
  preemptions: number;
  prefix_hit_rate: number;
  cache_mean: number;
  cache_peak: number;
  gpu_busy: number;
  steps: number;
  mean_batch: number;
  gpu_hours: number;
  energy: { total_j: number; mean_w: number; output_token_j: number | null } | null;
};

export interface Slice {
  time_s: number;
  cache: number;
  busy: number;
  running: number;
  waiting: number;
  power_w: number | null;
  replicas?: number;
}

export interface ServedStep {
  start_s: number;
  step_ms: number;
  interval_ms?: Interval;
  replica: number;
  steps: number;
  prompt_tokens: number;
  decodes: number;
  running: number;
  waiting: number;
  cache: number;
}

export interface ServedLoad {
  load: string; // "rate 4"
  requests_that_fit: number;
  metrics: Metrics;
  fast?: Metrics;
  slow?: Metrics;
  over_time?: Slice[];
  over_time_fast?: Slice[]; // with all steps at the ends of their intervals, over the same seconds
  over_time_slow?: Slice[];
  steps?: ServedStep[];
  refused?: string[];
}

export interface Simulation {
  model: string;
  gpu: string;
  engine: string;
  dtype: string;
  replicas: number;
  prefill_replicas: number;
  max_num_seqs: number;
  max_num_batched_tokens: number;
  notes: string[];
  loads: ServedLoad[];
}

export interface Pool {
  tp: number;
  pp: number;
  ep: number;
  attention_dp: number;
  copies: number;
  gpus: number;
  max_num_seqs: number;
  max_num_batched_tokens: number;
}

export type Simulated = Record<`${Time}_ms`, number> & Partial<Record<`${Time}_interval_ms`, Interval>> & {
  rate: number;
  output_tokens_per_second_per_gpu: number;
  output_tokens_per_second_per_user: number;
  concurrency: number;
  joules_per_output_token: number | null;
  cache_peak: number;
  meets: boolean;
  margin: number;
  chance: number | null;
  in_the_way?: string;
};

export interface Deployment {
  gpu: string;
  gpus: number;
  usd_per_hour: number | null;
  usd_per_million_output_tokens: number | null;
  engine: string;
  dtype: string;
  kv_dtype: string;
  pool: Pool;
  prefill_pool?: Pool;
  simulated?: Simulated;
  seen: string;
  release: string;
}

export interface ParetoPoint {
  gpu: string;
  layout: string;
  what: string;
  output_tokens_per_second_per_user: number;
  interval_per_user: Interval;
  output_tokens_per_second_per_gpu: number;
  concurrency: number;
  front: boolean;
}

export type LoadPoint = { rate: number } & Record<`${Time}_ms`, number> & Record<`${Time}_interval_ms`, Interval>;

export interface ServingPlan {
  model: string;
  objective: string;
  statistic: Statistic;
  tried: number;
  too_large: number;
  too_slow: number;
  prices: string[];
  notes: string[];
  finalists: Deployment[];
  best?: Deployment;
  breaks?: { rate: number; objective: string; cache_full: boolean; saturation: number; limit: string };
  release?: string;
  launch?: string[];
  problem?: string;
  nearest?: Deployment;
  attainable?: Deployment;
  pictures?: { pareto: ParetoPoint[]; loads: LoadPoint[]; over_time: Slice[] };
  files?: AnswerFile[];
}

// Of an axis or a count: no more digits than it needs.
export const plain = (value: number): string => String(Number(value.toPrecision(3)));

// "ttft=500ms,tpot=30ms" as milliseconds by name.
export function objectivesOf(slo: string): Partial<Record<Time, number>> {
  const found: Partial<Record<Time, number>> = {};
  for (const part of slo.split(',')) {
    const [name = '', value = ''] = part.split('=').map((text) => text.trim());
    const ms = millisecondsOf(value);
    if (ms !== undefined && times.some((time) => time.id === name)) found[name as Time] = ms;
  }
  return found;
}

// What a load was: the number that a sweep varied.
export const valueOf = (load: ServedLoad): number => Number(/[\d.e+-]+$/.exec(load.load)?.[0] ?? NaN);

export function layoutText(pool: Pool): string {
  const parts = [pool.tp > 1 && `tp ${pool.tp}`, pool.pp > 1 && `pp ${pool.pp}`, pool.attention_dp > 1 && `attention dp ${pool.attention_dp}`,
    pool.ep > 1 && `ep ${pool.ep}`].filter(Boolean).join(', ') || '1 GPU';
  return pool.copies > 1 ? `${parts} × ${pool.copies}` : parts;
}
export const deploymentText = (one: Deployment): string =>
  one.prefill_pool ? `prompts ${layoutText(one.prefill_pool)}; answers ${layoutText(one.pool)}` : layoutText(one.pool);
export const formatText = (one: Deployment): string => (one.kv_dtype === 'auto' ? one.dtype : `${one.dtype}, cache ${one.kv_dtype}`);
