// What web/evidence.mjs makes of docs/accuracy.md and docs/accuracy/*.md while the page is built.
declare module 'evidence:accuracy' {
  type KernelRow = [source: string, family: string, dtype: string, card: string, marks: string, rows: number, mean: number, median: number, p90: number, bias: number, inInterval: number];
  interface Table {
    columns: string[];
    rows: string[][];
  }
  const evidence: {
    words: string[];
    summary: Table;
    kernels: Record<'seen' | 'gpu' | 'architecture', KernelRow[]>;
    models: [experiment: string, rows: string, count: number | null, mean: number, median: number | null, p90: number | null, bias: number | null][];
    blind: { about: string[]; sections: ({ title: string } & Table)[] };
    coverage: Table;
  };
  export default evidence;
}
