// A chart with everything that belongs to it: heading, the same figures as a table, and its exports.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { download, pngOf, svgText } from './export';
import { type Column, csvOf } from './table';

export function DataTable<Row>({ columns, rows, caption }: { columns: Column<Row>[]; rows: Row[]; caption: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <thead><tr>{columns.map((column) => <th scope="col" class={column.number ? 'number' : undefined}>{column.name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map((column, i) => {
                const text = column.text ? column.text(row) : String(column.value(row) ?? '–');
                return i === 0 ? <th scope="row">{text}</th> : <td class={column.number ? 'number' : undefined}>{text}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export interface FigureProps<Row> {
  title: string;
  file: string; // name of exported files, without ending
  columns: Column<Row>[];
  rows: Row[];
  children: ComponentChildren; // the chart, or several
  note?: ComponentChildren;
  open?: boolean; // the table stands open
}

export function Figure<Row>({ title, file, columns, rows, children, note, open }: FigureProps<Row>) {
  const box = useRef<HTMLElement>(null);
  const [shown, setShown] = useState(open ?? false); // tables of thousands of rows are drawn when somebody opens them
  const chart = () => box.current!.querySelector<SVGSVGElement>('.drawn svg');
  const saveSvg = () => {
    const drawing = chart();
    if (drawing) download(`${file}.svg`, 'image/svg+xml', svgText(drawing, title));
  };
  const savePng = async () => {
    const drawing = chart();
    if (drawing) download(`${file}.png`, 'image/png', await pngOf(svgText(drawing, title), drawing.clientWidth, drawing.clientHeight));
  };
  return (
    <section class="figure" ref={box} aria-label={title}>
      <div class="figurehead">
        <h2>{title}</h2>
        <div class="exports">
          <button type="button" onClick={() => download(`${file}.csv`, 'text/csv', csvOf(columns, rows))} aria-label={`${title} as CSV`}>CSV</button>
          <button type="button" onClick={saveSvg} aria-label={`${title} as SVG`}>SVG</button>
          <button type="button" onClick={() => void savePng()} aria-label={`${title} as PNG`}>PNG</button>
        </div>
      </div>
      <div class="drawn">{children}</div>
      {note && <div class="note">{note}</div>}
      <details open={open} onToggle={(event) => setShown(event.currentTarget.open)}>
        <summary>Figures as a table</summary>
        {shown && <DataTable columns={columns} rows={rows} caption={`${title}: the figures`} />}
      </details>
    </section>
  );
}
