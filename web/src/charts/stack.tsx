// Stacked horizontal bars with a limit each: memory by what it holds, against what a card has.
import { BottomAxis, Legend } from './axis';
import { colour, useMarks, useWidth } from './marks';
import { binary, largest, linear } from './scale';

export interface Stack {
  name: string;
  parts: number[]; // in the order of `parts` below
  limit?: number;
  total?: number; // where it is less than the sum: parts that do not peak together
  note?: string;
}

export interface StacksProps {
  stacks: Stack[];
  parts: string[];
  text: (value: number) => string;
  title: string;
  label: string;
  limitName?: string;
  data?: boolean; // amounts of data, whose round figures are powers of 1024
}

const rowHeight = 36;

export function Stacks({ stacks, parts, text, title, label, limitName = 'limit', data = false }: StacksProps) {
  const [box, width] = useWidth();
  const used = parts.map((_, i) => stacks.some((stack) => (stack.parts[i] ?? 0) > 0));
  const labels = stacks.map((stack) =>
    [
      `${stack.name}: ${text(stack.total ?? stack.parts.reduce((sum, part) => sum + part, 0))}${stack.limit === undefined ? '' : ` of ${text(stack.limit)}`}`,
      ...parts.map((part, i) => `${part} ${text(stack.parts[i] ?? 0)}`).filter((_, i) => (stack.parts[i] ?? 0) > 0),
      ...(stack.note ? [stack.note] : []),
    ].join('\n'),
  );
  const marks = useMarks(labels, box);
  const labelWidth = Math.min(width * 0.34, 18 + 7.2 * largest(stacks.map((stack) => stack.name.length)));
  const most = largest(stacks.flatMap((stack) => [stack.limit ?? 0, stack.parts.reduce((sum, part) => sum + part, 0)])) || 1;
  const scale = (data ? binary : linear)(0, most * 1.02, labelWidth, width - 10, width < 480 ? 3 : 6);
  const height = stacks.length * rowHeight;
  return (
    <div class="chart" ref={box}>
      <Legend names={parts.filter((_, i) => used[i])} colours={parts.map((_, i) => colour(i)).filter((_, i) => used[i])} />
      <svg width={width} height={height + 38} role="group" aria-label={label}>
        <BottomAxis scale={scale} text={text} title={title} y={height + 2} from={labelWidth} to={width - 4} top={0} />
        {stacks.map((stack, row) => {
          const middle = row * rowHeight + rowHeight / 2;
          let before = 0;
          return (
            <g class={marks.item(row)}>
              <rect x={0} y={row * rowHeight + 1} width="100%" height={rowHeight - 2} rx={3} class="row" />
              <text x={labelWidth - 8} y={middle + 4} text-anchor="end" class="name">
                {stack.name}
              </text>
              {stack.parts.map((part, i) => {
                const from = scale.at(before);
                before += part;
                return (
                  part > 0 && (
                    <rect
                      x={from}
                      y={middle - 10}
                      width={Math.max(0.5, scale.at(before) - from)}
                      height={20}
                      style={{ fill: colour(i) }}
                      class="bar"
                    />
                  )
                );
              })}
              {stack.limit !== undefined && (
                <g class={before > stack.limit && (stack.total ?? before) > stack.limit ? 'brim over' : 'brim'}>
                  <line x1={scale.at(stack.limit)} x2={scale.at(stack.limit)} y1={middle - 14} y2={middle + 14} />
                  {row === 0 && (
                    <text x={scale.at(stack.limit) - 4} y={middle - 11} text-anchor="end">
                      {limitName}
                    </text>
                  )}
                </g>
              )}
              <rect x={0} y={row * rowHeight + 1} width="100%" height={rowHeight - 2} {...marks.props(row)} />
            </g>
          );
        })}
      </svg>
      {marks.tooltip}
    </div>
  );
}
