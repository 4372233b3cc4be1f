// Documents of `plan train` and of `predict` over many GPUs, as far as the page draws them (docs/json.md).
import type { Interval } from '../api';

export interface Layout {
  tp: number;
  cp: number;
  dp: number;
  pp: number;
  ep: number;
  expert_tp: number;
  sequence_parallel: boolean;
  context: string;
  schedule: string;
  chunks: number;
  sharding: string;
  shard_group: number;
  overlap: boolean;
}

export interface RankedLayout {
  layout: Layout;
  micro_batch: number;
  recompute: 'none' | 'selective' | 'full';
  recompute_modules: readonly string[];
  step_ms: number;
  interval_ms: Interval;
  tokens_per_second: number;
  mfu: number;
  bubble_ms: number;
  exposed_ms: number;
  memory_bytes: number;
  days: number | null;
}

export interface ScalingPoint {
  gpus: number;
  global_batch: number;
  layout: string | null;
  tokens_per_second: number;
  mfu: number;
  days: number;
  interval_days: Interval | null;
}

export interface TrainingPlan {
  model: string;
  cluster: string;
  gpus: number;
  tried: number;
  fit: number;
  tokens: number;
  steps: number;
  days: number | null;
  interval_days: Interval;
  undisturbed_days: number;
  goodput: number;
  failures: number;
  hours_between_failures: number;
  checkpoint_bytes: number;
  checkpoint_seconds: number;
  checkpoint_interval_minutes: number;
  gpu_hours: number;
  usd: number | null;
  megawatt_hours: number | null;
  ranked: RankedLayout[];
  advice: { what: string; gain: number }[];
  tried_gpus?: number[];
  strong_scaling?: ScalingPoint[];
  weak_scaling?: ScalingPoint[];
}

export type MemoryPart = 'weights' | 'gradients' | 'optimizer' | 'activations' | 'cache' | 'workspace';
export const memoryParts: readonly MemoryPart[] = ['weights', 'gradients', 'optimizer', 'activations', 'cache', 'workspace'];

export interface Stage {
  layers: number;
  forward_ms: number;
  backward_ms: number;
  memory_bytes: Record<MemoryPart | 'total', number>;
  usable_bytes: number;
}

export type Task = [rank: number, task: string, microBatch: number, chunk: number, beginMs: number, endMs: number, beside: boolean];

export interface SpreadStep {
  error?: string;
  gpus: number;
  micro_batches: number;
  step_ms: number;
  interval_ms: Interval;
  compute_ms: number;
  bubble_ms: number;
  optimizer_ms: number;
  exposed_ms: number;
  stages: Stage[];
  fits: boolean;
  timeline?: { ranks: number; gpus_a_rank: number; left_out: number; tasks: Task[] };
}

// As the command line writes layouts.
export function layoutText(layout: Layout): string {
  const parts = (['tp', 'cp', 'pp', 'dp', 'ep'] as const).filter((axis) => layout[axis] > 1).map((axis) => `${axis} ${layout[axis]}`);
  return parts.join(', ') || '1 GPU';
}

export function detailText({ layout, micro_batch, recompute, recompute_modules }: RankedLayout): string {
  const more = [`micro-batch ${micro_batch}`];
  if (layout.pp > 1) more.push(layout.chunks > 1 ? `${layout.schedule} × ${layout.chunks}` : layout.schedule);
  if (layout.sharding !== 'none') more.push(layout.sharding);
  if (recompute !== 'none') more.push(recompute === 'selective' ? `${recompute_modules.join(', ')} recomputed` : 'recomputed');
  return more.join(', ');
}
