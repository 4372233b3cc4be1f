import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deploymentText, layoutText, objectivesOf, valueOf } from '../src/views/serving';
import { detailText, layoutText as trainLayoutText } from '../src/views/training';
import { stepQuery } from '../src/views/train_query';

test('objectives are milliseconds by name, and what is none is left out', () => {
  assert.deepEqual(objectivesOf('ttft=500ms, tpot=0.03s,e2el=1min'), { ttft: 500, tpot: 30, e2el: 60_000 });
  assert.deepEqual(objectivesOf('ttft=,speed=3ms,tpot'), {});
});

test('a load says its number', () => {
  const load = (text: string) => valueOf({ load: text } as Parameters<typeof valueOf>[0]);
  assert.equal(load('rate 4'), 4);
  assert.equal(load('rate 0.25'), 0.25);
  assert.equal(load('concurrency 128'), 128);
  assert.ok(Number.isNaN(load('all at once')));
});

test('layouts of pools as people say them', () => {
  const pool = { tp: 1, pp: 1, ep: 1, attention_dp: 1, copies: 1, gpus: 1, max_num_seqs: 1, max_num_batched_tokens: 1 };
  assert.equal(layoutText(pool), '1 GPU');
  assert.equal(layoutText({ ...pool, tp: 2, copies: 3 }), 'tp 2 × 3');
  const apart = { pool: { ...pool, tp: 2 }, prefill_pool: { ...pool, copies: 2 } } as Parameters<typeof deploymentText>[0];
  assert.equal(deploymentText(apart), 'prompts 1 GPU × 2; answers tp 2');
});

const layout = { tp: 4, cp: 1, dp: 4, pp: 4, ep: 1, expert_tp: 4, sequence_parallel: true, context: 'ring', schedule: 'interleaved', chunks: 4, sharding: 'zero1', shard_group: 0, overlap: true };
const ranked = { layout, micro_batch: 1, recompute: 'none', recompute_modules: [], step_ms: 1, interval_ms: [1, 2], tokens_per_second: 1, mfu: 0.5, bubble_ms: 0, exposed_ms: 0, memory_bytes: 1, days: 1 } as const;

test('a ranked layout as the step that predict is asked for', () => {
  const query = stepQuery({ model: 'Llama-3.1-70B', gpus: '64xH100-SXM', global_batch: '512', seq: '4096', tokens: '1T' }, 64, ranked);
  assert.deepEqual(query, {
    model: 'Llama-3.1-70B', cluster: '64xH100-SXM', mode: 'train', seq: '4096', global_batch: '512', micro_batch: 1, list_tasks: true, engine: 'cudagraph', mixed: 'master',
    fp32_gradients: true, dtype: 'bf16', tp: 4, dp: 4, pp: 4, sequence_parallel: true, schedule: 'interleaved', chunks: 4, sharding: 'zero1',
  });
  assert.equal(trainLayoutText(layout), 'tp 4, pp 4, dp 4');
  assert.equal(detailText(ranked), 'micro-batch 1, interleaved × 4, zero1');
});

test('a number of GPUs that a deadline found is part of the step', () => {
  const query = stepQuery({ model: 'gpt2', gpus: 'H100-SXM', deadline: '3', framework: 'megatron' }, 24, { ...ranked, layout: { ...layout, tp: 1, pp: 1, dp: 24, chunks: 1, overlap: false }, recompute: 'full' });
  assert.equal(query.cluster, '24xH100-SXM');
  assert.equal(query.framework, 'megatron');
  assert.equal(query.engine, undefined); // the framework's own
  assert.equal(query.no_overlap, true);
  assert.equal(query.recompute, 'full');
  assert.ok(!('schedule' in query) && !('tp' in query));
});
