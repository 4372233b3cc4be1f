// A table of coloured cells: figures by row and column, the darker the larger.
import { useMarks, useWidth } from './marks';
import { largest } from './scale';

export interface HeatCell {
  row: number;
  column: number;
  value: number;
  more?: string[];
}

export interface HeatProps {
  rows: string[];
  columns: string[];
  cells: HeatCell[];
  text: (value: number) => string;
  label: string;
  most: number; // from here on cells have the strongest colour
  picked?: number;
  onPick?: (index: number) => void;
}

const rowHeight = 25;

export function Heat({ rows, columns, cells, text, label, most, picked, onPick }: HeatProps) {
  const [box, width] = useWidth();
  const labels = cells.map((cell) => [`${rows[cell.row]}, ${columns[cell.column]}: ${text(cell.value)}`, ...(cell.more ?? [])].join('\n'));
  const marks = useMarks(labels, box, onPick, picked);
  const left = Math.min(230, 12 + 6.9 * largest(rows.map((row) => row.length)));
  const top = 14 + 5.2 * largest(columns.map((column) => column.length));
  const cellWidth = Math.max(40, (width - left - 26) / Math.max(1, columns.length));
  const whole = left + cellWidth * columns.length + 26;
  return (
    <div class="chart" ref={box}>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${label}, chart`}>
        <svg width={Math.max(width, whole)} height={top + rows.length * rowHeight + 4} role="group" aria-label={label} class="heat">
          {columns.map((column, i) => {
            const x = left + (i + 0.5) * cellWidth;
            return <text x={x} y={top - 7} transform={`rotate(-38 ${x} ${top - 7})`} class="name">{column}</text>;
          })}
          {rows.map((row, i) => <text x={left - 8} y={top + i * rowHeight + 17} text-anchor="end" class="name">{row}</text>)}
          {cells.map((cell, i) => {
            const strength = Math.min(1, Math.max(0, cell.value / most));
            return (
              <g {...marks.props(i)}>
                <rect x={left + cell.column * cellWidth + 1} y={top + cell.row * rowHeight + 1} width={cellWidth - 2} height={rowHeight - 2} rx={2} class="span cell" style={{ fillOpacity: 0.06 + 0.5 * strength }} />
                <text x={left + (cell.column + 0.5) * cellWidth} y={top + cell.row * rowHeight + 17} text-anchor="middle">{text(cell.value)}</text>
              </g>
            );
          })}
        </svg>
      </div>
      {marks.tooltip}
    </div>
  );
}
