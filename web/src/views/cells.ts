// Errors of kernels by card and family.
import type evidence from 'evidence:accuracy';

export type KernelRow = (typeof evidence.kernels)['seen'][number];

// Sources and number formats of a cell together, weighed by their rows.
export interface Cell {
  card: string;
  family: string;
  rows: number;
  mean: number;
  inInterval: number;
}
export function cellsOf(rows: KernelRow[]): Cell[] {
  const cells = new Map<string, Cell>();
  for (const [, family, , card, , count, mean, , , , inInterval] of rows) {
    const key = `${card} ${family}`;
    const before = cells.get(key) ?? { card, family, rows: 0, mean: 0, inInterval: 0 };
    const all = before.rows + count;
    cells.set(key, { card, family, rows: all, mean: (before.mean * before.rows + mean * count) / all, inInterval: (before.inInterval * before.rows + inInterval * count) / all });
  }
  return [...cells.values()];
}
