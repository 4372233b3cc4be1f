import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roofAt } from '../src/charts/roofline';
import type { Launch, StepKernel } from '../src/documents';
import { sectionsOf } from '../src/layers';
import { valuesOfExample } from '../src/views/kernel';
import { wavesOf } from '../src/waves';

const launch = (plan: Partial<Launch['plan']>, schedule?: Launch['schedule']): Launch =>
  ({ plan: { tile: [0, 0, 0], split: 1, ctas: 1, threads: 256, ctas_per_sm: 1, waves: 1, known: true, ...plan }, schedule } as unknown as Launch);

test('the last wave is what is left', () => {
  const waves = wavesOf(launch({ ctas: 300, ctas_per_sm: 2, waves: 2 }), 100); // 200 slots a wave
  assert.deepEqual(waves.rows.map((row) => row.busy), [100, 50]);
  assert.equal(waves.lastShare, 0.5);
});

test('many waves: the first and the last', () => {
  const waves = wavesOf(launch({ ctas: 9950, waves: 100 }), 100, 10);
  assert.equal(waves.rows.length, 10);
  assert.equal(waves.rows[9]!.name, 'wave 100');
  assert.equal(waves.rows[9]!.busy, 50);
});

test('CTAs that stay take one task after another', () => {
  const waves = wavesOf(launch({ ctas: 100, waves: 1 }, { dispatch: 'persistent CTAs', sms_used: 100, tasks_busiest: 4, balance: 0.9 }), 100);
  assert.deepEqual(waves.rows.map((row) => Math.round(row.busy)), [100, 100, 100, 60]);
});

test('under the roof', () => {
  assert.equal(roofAt({ peak: 1000, feed: 10 }, 50), 500);
  assert.equal(roofAt({ peak: 1000, feed: 10 }, 500), 1000);
});

test('a family’s example as values', () => {
  assert.deepEqual(valuesOfExample('--m 4096 --q-len 8 --causal --lens 1,2 --layout=nn'), { m: '4096', q_len: '8', causal: 'true', lens: '1,2', layout: 'nn' });
});

const kernel = (name: string, kind: string, latency: number, times = 32, section = 'layer', pass = 'forward'): StepKernel =>
  ({ name, class: kind, latency_us: latency, times, section, pass, limited_by: kind === 'norm' ? 'launch' : 'dram' } as unknown as StepKernel);

test('kernels as the graph of a layer', () => {
  const sections = sectionsOf([
    kernel('embedding.tokens', 'embedding', 32, 1, 'embedding'),
    kernel('mixer_norm.pow', 'pointwise', 1), kernel('mixer_norm.mean', 'norm', 2),
    kernel('attention.q', 'linear', 3), kernel('attention.rope.k', 'pointwise', 1), kernel('attention.rope.q', 'pointwise', 1), kernel('attention.decode', 'attention', 2),
  ]);
  assert.deepEqual(sections.map((section) => [section.name, section.repeats]), [['embedding', 1], ['layer', 32]]);
  assert.deepEqual(sections[1]!.operators.map((operator) => [operator.block, operator.name, operator.kernels.length]),
    [['', 'mixer_norm', 2], ['attention', 'q', 1], ['attention', 'rope', 2], ['attention', 'decode', 1]]);
  const shares = sections.flatMap((section) => section.operators).reduce((sum, operator) => sum + operator.share, 0);
  assert.ok(Math.abs(shares - 1) < 1e-12);
  assert.equal(sections[1]!.operators[1]!.time_us, 96);
  assert.equal(sections[1]!.operators[0]!.limited_by, 'launch');
});
