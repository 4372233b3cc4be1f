import assert from 'node:assert/strict';
import { test } from 'node:test';
import evidence from 'evidence:accuracy';
import { cellsOf } from '../src/views/cells';
// @ts-expect-error a module of the build, without types
import { numberOf, tablesOf } from '../evidence.mjs';

test('tables come with their headings, the sentence before them and plain cells', () => {
  const [first, second] = tablesOf('# A\n\n## B\n\nWhat it *is*\nof:\n\n| x | `y` |\n|---|---:|\n| **all** | 4.6 % |\n\n- a point\n\n| z |\n|---|\n| 1 |\n');
  assert.deepEqual(first, { headings: ['A', 'B'], paragraph: 'What it *is* of:', columns: ['x', 'y'], rows: [['**all**', '4.6 %']] });
  assert.deepEqual(second, { headings: ['A', 'B'], paragraph: '', columns: ['z'], rows: [['1']] });
});

test('cells are numbers where they have one', () => {
  assert.deepEqual(['4.6 %', '-0.2 %', '+8.6 %', '1,000', '±21 %', '–', '7.8 / 6.5', ''].map(numberOf), [4.6, -0.2, 8.6, 1000, 21, null, null, null]);
});

test('the documents have what the page shows', () => {
  for (const rows of Object.values(evidence.kernels)) {
    assert.ok(rows.length > 50);
    for (const row of rows) assert.ok(row.slice(5).every((cell) => typeof cell === 'number' && Number.isFinite(cell)), row.join(' '));
  }
  assert.ok(evidence.summary.rows.length > 5 && evidence.coverage.rows.length > 50 && evidence.blind.sections.length > 3 && evidence.models.length > 5 && evidence.words.length > 3);
});

test('a cell weighs its rows', () => {
  const row = (dtype: string, rows: number, mean: number, inside: number) => ['s', 'gemm', dtype, 'L40S', '', rows, mean, mean, mean, 0, inside] as (typeof evidence.kernels)['seen'][number];
  assert.deepEqual(cellsOf([row('bf16', 10, 4, 80), row('fp8', 30, 8, 100)]), [{ card: 'L40S', family: 'gemm', rows: 40, mean: 7, inInterval: 95 }]);
});
