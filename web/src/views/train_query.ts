import type { Query } from '../api';
import type { RankedLayout } from './training';

// The step of a ranked layout as `predict` is asked for it: what `plan train` takes for granted, written out.
export function stepQuery(plan: Query, gpus: number, ranked: RankedLayout): Query {
  const { layout } = ranked;
  const query: Query = { model: plan.model, cluster: String(plan.gpus).includes('x') ? plan.gpus : `${gpus}x${String(plan.gpus)}`, mode: 'train',
    seq: plan.seq, global_batch: plan.global_batch, micro_batch: ranked.micro_batch, list_tasks: true };
  for (const name of ['framework', 'engine', 'attention', 'mixed', 'dtype', 'optimizer', 'train_precision', 'fp8_attention', 'wide_layers', 'tune', 'lora_rank', 'lora_targets', 'objective', 'mtp_heads'])
    if (name in plan) query[name] = plan[name];
  if (!('framework' in plan)) {
    query.engine ??= 'cudagraph';
    query.mixed ??= 'master';
    query.fp32_gradients = true;
  }
  if (query.mixed !== 'none') query.dtype ??= 'bf16';
  for (const axis of ['tp', 'cp', 'dp', 'pp', 'ep'] as const) if (layout[axis] > 1) query[axis] = layout[axis];
  if (layout.ep > 1 && layout.expert_tp > 0) query.expert_tp = layout.expert_tp;
  if (layout.ep > 1 && 'token_dispatch' in plan) query.token_dispatch = plan.token_dispatch;
  if (layout.tp > 1) query.sequence_parallel = layout.sequence_parallel;
  if (layout.cp > 1) query.context_scheme = layout.context;
  if (layout.pp > 1) query.schedule = layout.schedule;
  if (layout.chunks > 1) query.chunks = layout.chunks;
  query.sharding = layout.sharding;
  if (layout.shard_group > 0) query.shard_group = layout.shard_group;
  if (!layout.overlap) query.no_overlap = true;
  if (ranked.recompute !== 'none') query.recompute = ranked.recompute;
  if (ranked.recompute === 'selective') query.recompute_modules = ranked.recompute_modules;
  return query;
}
