import assert from 'node:assert/strict';
import { test } from 'node:test';
import { descriptionOf, leavesOf, rangeOf, unitOf } from '../src/cards';
import { costOf, energyOf, rateOf } from '../src/costs';
import { type ProgramStep, type Step, comparedStep } from '../src/documents';
import { tokensIn } from '../src/views/compare_rows';

// A step of 10 ms that makes 32 tokens.
const step = { step_ms: 10, interval_ms: [8, 16], tokens_per_second: 3200, energy_j: 5 } as unknown as Step;
const compared = comparedStep(step);

test('money and energy of a million tokens, by hand', () => {
  // A million tokens are 31,250 steps: 312.5 s, at 3.6 $ an hour 0.3125 $.
  const cost = costOf(compared, 3.6);
  assert.ok(Math.abs(cost.value - 0.3125) < 1e-12);
  assert.deepEqual(cost.interval.map((end) => Number(end.toFixed(6))), [0.25, 0.5]);
  assert.deepEqual(rateOf(compared).interval, [2000, 4000]);
  assert.equal(energyOf(compared, 700).value, 156250); // 31,250 × 5 J
  assert.equal(energyOf(compared, 700).atMost, false);
  const unmetered = energyOf({ ...compared, energy_j: null }, 700);
  assert.deepEqual([unmetered.value, unmetered.atMost], [218750, true]); // 312.5 s × 700 W
});

test('a recorded program is counted in steps', () => {
  const program = comparedStep({ program: 'p', step_ms: 20, interval_ms: [10, 40], memory_bytes: { fits: false } } as unknown as ProgramStep);
  assert.deepEqual(rateOf(program), { value: 50, interval: [25, 100] });
  assert.ok(Math.abs(costOf(program, 3.6).value - 20) < 1e-9); // a million steps are 20,000 s
  assert.equal(program.fits, false);
});

test('a card by its changes', () => {
  assert.deepEqual(descriptionOf('H100-SXM', 'X', { sms: 200, 'dram.gb_per_s': 5000, 'dram.gib': 120, 'tensor_ops_per_clock_per_sm.bf16/fp32': 8192 }),
    { like: 'H100-SXM', name: 'X', sms: 200, dram: { gb_per_s: 5000, gib: 120 }, tensor_ops_per_clock_per_sm: { 'bf16/fp32': 8192 } });
});

test('fields of a card', () => {
  const leaves = leavesOf({ name: 'X', sms: 1, notes: ['a'], sources: { sms: 'b' }, dram: { gib: 80, ecc: true, type: 'HBM3' }, aliases: ['y'] });
  assert.deepEqual(leaves.map((leaf) => leaf.path), ['sms', 'dram.gib', 'dram.ecc', 'dram.type']);
  assert.equal(unitOf('dram.gb_per_s'), 'GB/s');
  assert.equal(unitOf('clock_mhz.max'), 'MHz');
});

test('sliders hold the figure they start from', () => {
  for (const value of [132, 1980, 3352.3, 80, 0.5]) {
    const { min, max, step: by } = rangeOf(value);
    assert.ok(min < value && value < max && by > 0, String(value));
  }
});

test('tokens as people write them', () => {
  assert.equal(tokensIn('15T'), 15e12);
  assert.equal(tokensIn('1e9'), 1e9);
  assert.equal(tokensIn('many'), undefined);
});
