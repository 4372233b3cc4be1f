// A table of figures: what stands behind every chart, for people who read rather than look and for spreadsheets.

export type Cell = string | number | boolean | null | undefined;
export interface Column<Row> {
  name: string; // with its unit, as a heading
  value: (row: Row) => Cell; // full precision, for CSV
  text?: (row: Row) => string; // for people
  number?: boolean; // aligned right
}

// A column of numbers, aligned right.
export const figure = <Row>(
  name: string,
  value: (row: Row) => number | undefined,
  text: (value: number) => string = String,
): Column<Row> => ({
  name,
  number: true,
  value,
  text: (row) => {
    const found = value(row);
    return found === undefined ? '–' : text(found);
  },
});

const quoted = (cell: Cell): string => {
  const given = cell === null || cell === undefined ? '' : String(cell);
  return /[",\r\n]/.test(given) ? `"${given.replace(/"/g, '""')}"` : given;
};

// RFC 4180.
export function csvOf<Row>(columns: Column<Row>[], rows: Row[]): string {
  return [columns.map((column) => quoted(column.name)), ...rows.map((row) => columns.map((column) => quoted(column.value(row))))]
    .map((line) => line.join(',') + '\r\n')
    .join('');
}
