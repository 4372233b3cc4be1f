import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Argument } from '../src/api';
import { matching } from '../src/forms/combo';
import { kindOf } from '../src/forms/model';
import { inScope, queryOf, rangeText } from '../src/forms/query';

const argument = (name: string, more: Partial<Argument> = {}): Argument =>
  ({ name, kind: 'text', help: '', unit: '', example: '', default: '', choices: [], aliases: [], required: false, ...more });

test('values to a query', () => {
  const declared = [argument('gpu'), argument('dropout', { kind: 'yes_no' }), argument('all-logits', { kind: 'yes_no' }), argument('requests')];
  assert.deepEqual(queryOf({ gpu: 'A, B', dropout: 'true', all_logits: '', requests: '8x1+2048,2x512' }, declared),
    { gpu: ['A', 'B'], dropout: true, requests: '8x1+2048,2x512' });
  assert.deepEqual(queryOf({ gpu: 'A', dropout: 'false' }, declared), { gpu: 'A' });
  assert.deepEqual(queryOf({ model: 'x' }, [], { given: { model: { model_type: 'llama' } } }), { model: { model_type: 'llama' } });
});

test('scopes', () => {
  const mode = argument('mode', { default: 'prefill' });
  const seq = argument('seq', { scopes: [{ argument: 'mode', values: ['prefill', 'train'] }] });
  const adapters = argument('lora-rank', { scopes: [{ argument: 'adapters', values: [] }] });
  assert.equal(inScope(seq, {}, [mode, seq]), true);
  assert.equal(inScope(seq, { mode: 'decode' }, [mode, seq]), false);
  const count = argument('adapters');
  assert.equal(inScope(adapters, {}, [adapters, count]), false);
  assert.equal(inScope(adapters, { adapters: '4' }, [adapters, count]), true);
  assert.equal(inScope(adapters, {}, [adapters]), true);
  assert.deepEqual(queryOf({ mode: 'decode', seq: '2048', batch: '1' }, [mode, seq]), { mode: 'decode', batch: '1' });
});

test('scopes that no argument says', () => {
  const batch = argument('batch', { scopes: [{ argument: 'shapes', values: ['free'] }] });
  assert.equal(inScope(batch, {}, [batch]), true);
  assert.equal(inScope(batch, {}, [batch], { shapes: 'fixed' }), false);
  assert.deepEqual(queryOf({ batch: '8' }, [batch], { facts: { shapes: 'fixed' } }), {});
});

test('what kind of model a file is', () => {
  assert.equal(kindOf(undefined), 'free');
  assert.equal(kindOf({ model_type: 'llama' }), 'free');
  assert.equal(kindOf({ name: 'a.onnx', base64: '' }), 'fixed');
  assert.equal(kindOf({ name: 'step.json.gz', base64: '' }), 'program');
  assert.equal(kindOf({ name: 'step.json', base64: btoa('{"format":"tilecast.program","version":1}') }), 'program');
  assert.equal(kindOf({ name: 'graph.json', base64: btoa('{"name":"wide-mlp","sections":[]}') }), 'fixed');
});

test('ranges as text', () => {
  assert.equal(rangeText(argument('n', { kind: 'count', least: 1 })), 'at least 1');
  assert.equal(rangeText(argument('n', { kind: 'number', least: 0, most: 1 })), '0 to 1');
  assert.equal(rangeText(argument('n', { kind: 'count' })), '');
  assert.equal(rangeText(argument('n', { kind: 'count', least: 1, most: 2 ** 30 })), 'at least 1');
  assert.equal(rangeText(argument('n', { kind: 'count', least: 0, most: 2 ** 30 })), '');
});

test('what is offered: beginnings first', () => {
  const offers = ['GB200', 'B200', 'H100-SXM'].map((value) => ({ value }));
  assert.deepEqual(matching(offers, 'b200').map((offer) => offer.value), ['B200', 'GB200']);
  assert.deepEqual(matching([{ value: 'Llama-3.1-8B', also: ['meta-llama/Llama-3.1-8B'] }], 'meta-llama').length, 1);
  assert.deepEqual(matching(offers, 'h100 sxm').map((offer) => offer.value), ['H100-SXM']);
});
