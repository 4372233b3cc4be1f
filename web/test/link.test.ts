import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flag, hashOf, json, list, number, oneOf, placeOf, readState, text, writeState } from '../src/link';

const fields = { sort: oneOf(['time', 'cost'], 'time'), price: number(2.5), all: flag(), cards: list(), card: text(), edit: json<Record<string, unknown>>({}) };

test('every state survives its link', () => {
  const state = {
    args: { model: 'Llama-3.1-8B', gpu: 'H100-SXM,B200', dtype: 'experts=mxfp4,attention=bf16', requests: '8x1+2048,2x512', dim: 'a b&c=d%#?é' },
    own: { sort: 'cost' as const, price: 0, all: true, cards: ['a', 'b'], card: 'B200', edit: { sms: 200, dram: { gb_per_s: 1e4 } } },
  };
  const place = placeOf(hashOf({ view: 'compare', query: writeState(fields, state) }));
  assert.equal(place.view, 'compare');
  assert.deepEqual(readState(fields, place.query), state);
});

test('what is as it opens is left out', () => {
  const state = readState(fields, '');
  assert.equal(writeState(fields, state), '');
  assert.equal(hashOf({ view: 'forecast', query: '' }), '#/forecast');
});

test('commas and slashes stay readable', () => {
  assert.equal(writeState({}, { args: { gpu: 'A,B', model: 'meta/llama' }, own: {} }), 'gpu=A,B&model=meta/llama');
});

test('nonsense falls back', () => {
  const state = readState(fields, '_sort=colour&_price=much&_all=maybe&_edit=%7B&x=1');
  assert.deepEqual(state.own, { sort: 'time', price: 2.5, all: false, cards: [], card: '', edit: {} });
  assert.deepEqual(state.args, { x: '1' });
});

test('a link without arguments keeps the question that a view opens with', () => {
  assert.deepEqual(readState(fields, '_sort=cost', { model: 'M' }).args, { model: 'M' });
  assert.deepEqual(readState(fields, 'gpu=B200', { model: 'M' }).args, { gpu: 'B200' });
});

test('places', () => {
  assert.deepEqual(placeOf(''), { view: '', query: '' });
  assert.deepEqual(placeOf('#/kernel?m=1&q=a?b'), { view: 'kernel', query: 'm=1&q=a?b' });
});
