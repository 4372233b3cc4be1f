// The evidence: errors of kernels by card and family, whole models, the blind test, what intervals hold. All of it is
// read from docs/accuracy while the page is built (web/evidence.mjs).
import evidence from 'evidence:accuracy';
import { type Bar, IntervalBars } from '../charts/bars';
import { Heat } from '../charts/heat';
import { download } from '../export';
import { DataTable, Figure } from '../figure';
import { list, oneOf } from '../link';
import { CopyButton, Panel, Tabs } from '../parts';
import { useLinkState } from '../state';
import { type Column, csvOf } from '../table';
import { type Cell, cellsOf } from './cells';

type Protocol = keyof typeof evidence.kernels;
type KernelRow = (typeof evidence.kernels)['seen'][number];
type ModelRow = (typeof evidence.models)[number];

const protocols: { id: Protocol; title: string; about: string }[] = [
  { id: 'seen', title: 'Card seen', about: 'Rows of the card were trained on; judged at shapes that every training holds out.' },
  { id: 'gpu', title: 'Card left out', about: 'No row of the card was in the training that forecasts it.' },
  { id: 'architecture', title: 'Architecture left out', about: 'Nor any row of its generation.' },
];
const parts = [{ id: 'kernels', title: 'Kernels' }, { id: 'models', title: 'Whole models' }, { id: 'blind', title: 'Blind test' }, { id: 'coverage', title: 'Intervals' }] as const;
const fields = {
  part: oneOf(parts.map((part) => part.id), 'kernels'),
  protocol: oneOf<Protocol>(['seen', 'gpu', 'architecture'], 'gpu'),
  cell: list(), // card and family
};

const percent = (value: number | null): string => (value === null || Number.isNaN(value) ? '–' : `${value.toFixed(1)} %`);
const unique = (texts: string[]): string[] => [...new Set(texts)];

const cellColumns: Column<Cell>[] = [
  { name: 'card', value: (row) => row.card },
  { name: 'family', value: (row) => row.family },
  { name: 'rows', value: (row) => row.rows, number: true },
  { name: 'mean error %', value: (row) => row.mean, text: (row) => percent(row.mean), number: true },
  { name: 'in interval %', value: (row) => row.inInterval, text: (row) => percent(row.inInterval), number: true },
];

const rowColumns: Column<KernelRow>[] = ['source', 'family', 'dtype', 'card', 'marks', 'rows', 'mean', 'median', 'p90', 'bias', 'in interval'].map((name, i) => ({
  name: i > 5 ? `${name} %` : name, value: (row: KernelRow) => row[i], number: i >= 5, ...(i > 5 ? { text: (row: KernelRow) => percent(row[i] as number) } : {}),
}));

function Kernels({ protocol, cell, onProtocol, onCell }: { protocol: Protocol; cell: string[]; onProtocol: (protocol: Protocol) => void; onCell: (cell: string[]) => void }) {
  const rows = evidence.kernels[protocol];
  const cells = cellsOf(rows);
  const cards = unique(cells.map((one) => one.card)).sort(), families = unique(cells.map((one) => one.family)).sort();
  const picked = cells.findIndex((one) => one.card === cell[0] && one.family === cell[1]);
  const behind = picked < 0 ? [] : rows.filter((row) => row[3] === cell[0] && row[1] === cell[1]);
  const worst = 40; // percent; errors beyond it look the same
  return (
    <>
      <Tabs label="What the forecasts had seen" tabs={protocols} picked={protocol} onPick={onProtocol} />
      <Figure title={`Mean error by ${protocol === 'architecture' ? 'architecture' : 'card'} and family`} file={`tilecast-accuracy-${protocol}`} columns={cellColumns} rows={cells}
        note={`${protocols.find((one) => one.id === protocol)!.about} Number formats and sources of a cell are weighed by their rows; pick a cell for the rows behind it.`}>
        <Heat label="Mean error by card and family, in percent" rows={cards} columns={families} most={worst} text={(value) => value.toFixed(value < 9.95 ? 1 : 0)} {...(picked < 0 ? {} : { picked })}
          onPick={(index) => onCell(index === picked ? [] : [cells[index]!.card, cells[index]!.family])}
          cells={cells.map((one) => ({ row: cards.indexOf(one.card), column: families.indexOf(one.family), value: one.mean, more: [`${one.rows} rows, ${percent(one.inInterval)} inside 80 % intervals`] }))} />
      </Figure>
      {behind.length > 0 && <Panel title={`${cell[0]}, ${cell[1]}: the rows behind it`}><DataTable columns={rowColumns} rows={behind} caption="Rows behind the cell" /></Panel>}
      <Panel title="In one table" aside={<CsvButton title="In one table" table={evidence.summary} />}><TextTable table={evidence.summary} caption="Mean error of kernels, by what was seen" /></Panel>
    </>
  );
}

interface Table {
  columns: string[];
  rows: string[][];
}
const columnsOf = (table: Table): Column<string[]>[] =>
  table.columns.map((name, i) => ({ name: name || 'what', value: (row) => row[i], text: (row) => row[i] || '–' }));
const TextTable = ({ table, caption }: { table: Table; caption: string }) => <DataTable columns={columnsOf(table)} rows={table.rows} caption={caption} />;

function CsvButton({ title, table }: { title: string; table: Table }) {
  const file = `tilecast-accuracy-${title.toLowerCase().replace(/ /g, '-')}.csv`;
  return <button type="button" aria-label={`${title} as CSV`} onClick={() => download(file, 'text/csv', csvOf(columnsOf(table), table.rows))}>CSV</button>;
}

const modelColumns: Column<ModelRow>[] = [
  { name: 'experiment', value: (row) => row[0] },
  { name: 'rows of', value: (row) => row[1] },
  { name: 'rows', value: (row) => row[2], number: true },
  ...['mean', 'median', 'p90', 'bias'].map((name, i): Column<ModelRow> => ({ name: `${name} error %`, value: (row) => row[i + 3], text: (row) => percent(row[i + 3] as number | null), number: true })),
];

// One experiment with a tail of thousands of percent would leave no room for the others.
const farthest = 100;

// "Our own H200; waiting for the host": several tables have the same heading.
function modelBar([experiment, rowsOf, rows, mean, median, p90, bias]: ModelRow): Bar {
  const far = p90! > farthest ? `90th percentile ${p90!.toFixed(0)} %` : '';
  return {
    name: [experiment.split(':')[0]!, rowsOf].filter(Boolean).join('; '), value: median!, interval: [median!, Math.min(farthest, p90!)], colour: 2,
    note: [rows === null ? '' : `${rows} rows`, far].filter(Boolean).join(', '), more: [experiment, rowsOf, `mean ${percent(mean)}, 90th percentile ${percent(p90)}, bias ${percent(bias)}`].filter(Boolean),
  };
}

function Models() {
  return (
    <Figure title="Whole models: errors" file="tilecast-accuracy-models" columns={modelColumns} rows={evidence.models} open
      note={`Each row sums up a table of docs/accuracy/whole-models.md. Bars are medians; whiskers reach to the 90th percentile, or to ${farthest} % where it lies beyond.`}>
      <IntervalBars label="Median error of whole models" title="median error, whiskers to the 90th percentile" whiskers="to the 90th percentile," text={(value) => `${value.toFixed(1)} %`}
        bars={evidence.models.filter((row) => row[4] !== null && row[5] !== null).map(modelBar)} />
    </Figure>
  );
}

function Blind() {
  return (
    <>
      {evidence.blind.about.map((text) => <p class="prose">{text}</p>)}
      {evidence.blind.sections.map((section) => <Panel title={section.title} aside={<CsvButton title={section.title} table={section} />}><TextTable table={section} caption={`${section.title}: the table`} /></Panel>)}
    </>
  );
}

interface CoverageRow {
  table: string;
  width: string;
  rows: number;
  share: number;
  reach: string;
  leftOut: string;
}
const coverageColumns: Column<CoverageRow>[] = [
  { name: 'table', value: (row) => row.table },
  { name: 'width of', value: (row) => row.width },
  { name: 'rows', value: (row) => row.rows, number: true },
  { name: 'inside %', value: (row) => row.share, text: (row) => `${row.share} %`, number: true },
  { name: 'reach', value: (row) => row.reach, number: true },
  { name: 'inside, widths of others', value: (row) => row.leftOut, number: true },
];

// Tables of one width together, weighed by their rows.
function Coverage() {
  const at = (row: string[], name: string) => row[evidence.coverage.columns.indexOf(name)] ?? '';
  const rows: CoverageRow[] = evidence.coverage.rows.map((row) => ({
    table: at(row, 'table'), width: at(row, 'width of'), rows: Number(at(row, 'rows')), share: Number(at(row, 'as it is').replace(/[^\d.]/g, '')), reach: at(row, 'reach'), leftOut: at(row, 'left out'),
  }));
  const widths = unique(rows.map((row) => row.width)).map((width) => {
    const mine = rows.filter((row) => row.width === width && row.share >= 0), all = mine.reduce((sum, row) => sum + row.rows, 0);
    const shares = mine.map((row) => row.share);
    return { width: width === '–' ? 'kernels, nothing added' : width, rows: all, tables: mine.length, share: mine.reduce((sum, row) => sum + row.share * row.rows, 0) / Math.max(1, all), least: Math.min(...shares), most: Math.max(...shares) };
  });
  return (
    <Figure title="What 80 % intervals hold" file="tilecast-coverage" columns={coverageColumns} rows={rows} note="Share of measured rows inside their interval, by what the interval is of; whiskers go from the table that it holds least of to the one it holds most of. The thin line is 80 %.">
      <IntervalBars label="Share of rows inside 80 % intervals" whiskers="tables from" title="inside the interval" text={(value) => `${value.toFixed(0)} %`}
        bars={widths.map((one) => ({ name: one.width.replace(/^another (\w+), (\w+)$/, '$2, new $1'), value: one.share, bound: 80, interval: [one.least, one.most] as const, colour: 5, note: `${one.rows} rows`, more: [`${one.tables} tables`] }))} />
    </Figure>
  );
}

const command = 'make accuracy   # writes docs/accuracy.md and docs/accuracy/, which this view is made from';

export function Accuracy() {
  const [{ own }, change] = useLinkState('accuracy', fields, {});
  return (
    <div class="results">
      <Tabs label="Which evidence" tabs={[...parts]} picked={own.part} onPick={(part) => change({ own: { part } })} />
      {own.part === 'kernels' && <Kernels protocol={own.protocol} cell={own.cell} onProtocol={(protocol) => change({ own: { protocol, cell: [] } })} onCell={(cell) => change({ own: { cell } })} />}
      {own.part === 'models' && <Models />}
      {own.part === 'blind' && <Blind />}
      {own.part === 'coverage' && <Coverage />}
      <Panel title="What the words mean"><ul>{evidence.words.map((text) => <li>{text}</li>)}</ul></Panel>
      <section class="commands" aria-label="The same as a command">
        <div class="figurehead"><h3>The same as a command</h3></div>
        <pre tabIndex={0}><code>{command}</code></pre>
        <CopyButton text={command} label="Copy the command" />
        <CopyButton text={location.href} label="Copy the link to this view" />
      </section>
    </div>
  );
}
