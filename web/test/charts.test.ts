import assert from 'node:assert/strict';
import { test } from 'node:test';
import { binary, linear, logarithmic } from '../src/charts/scale';
import { eventsOf } from '../src/api';
import { csvOf } from '../src/table';

test('a linear axis: ends, round ticks', () => {
  const scale = linear(0, 37.9, 100, 500, 5);
  assert.equal(scale.at(0), 100);
  assert.equal(scale.at(37.9), 500);
  assert.deepEqual(scale.ticks, [0, 10, 20, 30]);
  assert.deepEqual(linear(0, 0, 0, 1).ticks[0], 0);
});

test('an axis of data has round GiB', () => {
  assert.deepEqual(binary(0, 76304388980, 0, 1, 4).ticks.map((tick) => tick / 2 ** 30), [0, 20, 40, 60]);
  assert.equal(binary(0, 2 ** 30, 0, 100).at(2 ** 29), 50);
});

test('a logarithmic axis', () => {
  const scale = logarithmic(1, 1000, 0, 300);
  assert.ok(Math.abs(scale.at(10) - 100) < 1e-9);
  assert.deepEqual(scale.ticks.map((tick) => Math.round(tick)), [1, 10, 100, 1000]);
  assert.deepEqual(logarithmic(1, 16, 0, 1, 8, 2).ticks, [1, 2, 4, 8, 16]);
  assert.deepEqual(logarithmic(1.5, 9, 0, 1).ticks, [2, 5]);
});

test('CSV as spreadsheets read it', () => {
  const columns = [{ name: 'card', value: (row: [string, number | null]) => row[0] }, { name: 'time, ms', value: (row: [string, number | null]) => row[1] }];
  assert.equal(csvOf(columns, [['a "b"', 1.5], ['c\nd', null]]), 'card,"time, ms"\r\n"a ""b""",1.5\r\n"c\nd",\r\n');
});

test('server-sent events, cut anywhere', async () => {
  const stream = 'event: progress\ndata: {"done":1}\n\n: a comment\n\nevent: done\r\ndata: {"a":\r\ndata: 2}\r\n\r\n';
  for (let size = 1; size <= stream.length; ++size) {
    const chunks = (async function* () {
      for (let at = 0; at < stream.length; at += size) yield stream.slice(at, at + size);
    })();
    const events = [];
    for await (const event of eventsOf(chunks)) events.push(event);
    assert.deepEqual(events, [{ event: 'progress', data: '{"done":1}' }, { event: 'done', data: '{"a":\n2}' }], `chunks of ${size}`);
  }
});
