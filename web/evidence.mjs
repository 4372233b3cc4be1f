// What docs/accuracy.md and docs/accuracy/*.md say, as data for the page. Read while the page is built, from the very
// pages that `make accuracy` writes, so that no figure on the page can differ from them: cells keep their texts, and
// numbers are read from these where something is drawn.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const cellsOf = (line) => line.trim().replace(/^\|/, '').replace(/\|$/, '').split('|').map((cell) => cell.trim());
const plain = (text) => text.replace(/\*\*/g, '').replace(/`/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

// Tables with the headings they stand under and the last paragraph before them.
export function tablesOf(markdown) {
  const tables = [];
  const headings = [];
  let paragraph = '';
  let ended = true; // a blank line stands behind the paragraph
  let table;
  for (const line of markdown.split('\n')) {
    const heading = /^(#+) (.*)$/.exec(line);
    if (heading) {
      headings.length = heading[1].length - 1;
      headings[heading[1].length - 1] = plain(heading[2]);
      paragraph = '';
    }
    if (line.startsWith('|')) {
      if (!table) tables.push((table = { headings: headings.filter(Boolean), paragraph, columns: cellsOf(line).map(plain), rows: [] }));
      else if (!/^\|[\s:|-]+\|$/.test(line)) table.rows.push(cellsOf(line));
    } else {
      table = undefined;
      if (line.trim() === '') ended = true;
      else if (!heading) {
        paragraph = line.startsWith('- ') ? '' : `${ended ? '' : paragraph} ${plain(line.trim())}`.trim();
        ended = false;
      }
    }
  }
  return tables;
}

// "4.6 %" is 4.6; nothing where a cell has no single number.
export function numberOf(cell) {
  const match = /^[±+]?(-?[\d,]*\.?\d+) ?%?$/.exec(cell);
  return match ? Number(match[1].replace(/,/g, '')) : null;
}

function only(tables, heading, columns) {
  const found = tables.find((table) => table.headings.includes(heading));
  if (!found) throw new Error(`docs/accuracy: no table under "${heading}"`);
  for (const column of columns)
    if (!found.columns.includes(column)) throw new Error(`docs/accuracy: "${heading}" has no column "${column}"`);
  return found;
}

// Rows of one protocol: [source, family, dtype, card, marks, rows, mean, median, p90, bias, in interval].
function kernelRows(tables, heading, card) {
  const table = only(tables, heading, ['source', 'family', 'dtype', card, 'rows', 'mean', 'median', 'p90', 'bias', 'in interval']);
  const at = (row, column) => row[table.columns.indexOf(column)];
  return table.rows.map((row) => {
    const [, name, marks = ''] = /^(\S+)(?: \((.*)\))?$/.exec(at(row, card)) ?? [];
    if (!name) throw new Error(`docs/accuracy: "${heading}" has the card "${at(row, card)}"`);
    return [at(row, 'source'), at(row, 'family'), at(row, 'dtype'), name, marks,
      ...['rows', 'mean', 'median', 'p90', 'bias', 'in interval'].map((column) => numberOf(at(row, column)))];
  });
}

const bulletsBefore = (markdown, heading) =>
  markdown.slice(0, markdown.indexOf(`\n## ${heading}`)).replace(/\n {2}(?=\S)/g, ' ').split('\n')
    .filter((line) => line.startsWith('- ')).map((line) => plain(line.slice(2)).replace(/\*/g, ''));

// Of whole models, the rows that sum up a table.
function wholeModels(tables) {
  const all = new Map(); // the same rows grouped another way are summed up once
  for (const table of tables) {
    const mean = table.columns.indexOf('mean'), rows = table.columns.indexOf('rows');
    if (mean < 0 || rows < 0) continue;
    for (const row of table.rows)
      if (row[0]?.startsWith('**')) {
        const figures = ['rows', 'mean', 'median', 'p90', 'bias'].map((column) => numberOf(plain(row[table.columns.indexOf(column)] ?? '')));
        const key = [table.headings.at(-1), ...figures].join(' ');
        const label = /^.*?(?=[.:](?: |$)|$)/.exec(table.paragraph)[0];
        if (!all.has(key)) all.set(key, [table.headings.at(-1), label.length < 110 ? label : `${label.slice(0, label.lastIndexOf(' ', 90))} …`, ...figures]);
      }
  }
  return [...all.values()];
}

export async function readEvidence(docs) {
  const text = (name) => readFile(join(docs, name), 'utf8');
  const summary = await text('accuracy.md');
  const tables = async (name) => tablesOf(await text(`accuracy/${name}.md`));
  const blind = await text('accuracy/blind.md');
  const firstTable = only(tablesOf(summary), 'Kernels', ['rows of', 'seen', 'GPU left out', 'architecture left out']);
  const coverage = only(await tables('coverage'), 'Coverage', ['table', 'width of', 'rows', 'as it is', 'reach', 'left out']);
  return {
    words: bulletsBefore(summary, 'Kernels'),
    summary: { columns: firstTable.columns, rows: firstTable.rows },
    kernels: {
      seen: kernelRows(await tables('seen'), 'Learned, GPU seen: held-out shapes', 'GPU'),
      gpu: kernelRows(await tables('gpu-left-out'), 'Learned, GPU left out', 'GPU'),
      architecture: kernelRows(await tables('architecture-left-out'), 'Learned, architecture left out', 'architecture'),
    },
    models: wholeModels(await tables('whole-models')),
    blind: {
      about: blind.split('\n\n').slice(2, 4).map((part) => plain(part.replace(/\n/g, ' ')).replace(/\*/g, '')),
      sections: tablesOf(blind).map((table) => ({ title: table.headings.at(-1), columns: table.columns, rows: table.rows.map((row) => row.map(plain)) })),
    },
    coverage: { columns: coverage.columns, rows: coverage.rows },
  };
}

// `import evidence from 'evidence:accuracy'`.
export const evidencePlugin = (docs) => ({
  name: 'evidence',
  setup(build) {
    build.onResolve({ filter: /^evidence:accuracy$/ }, (given) => ({ path: given.path, namespace: 'evidence' }));
    build.onLoad({ filter: /.*/, namespace: 'evidence' }, async () => ({ contents: JSON.stringify(await readEvidence(docs)), loader: 'json' }));
  },
});
