// The graph of a layer: operators as boxes in order, joined by arrows, as wide as their share of the step asks for and
// the deeper in colour the longer they take. Blocks (attention, mlp) are framed; rows wrap at the chart's width.
import type { Operator, Section } from '../layers';
import { microseconds, percent } from '../format';
import { Legend } from './axis';
import { colour, useMarks, useWidth } from './marks';

export interface Placed {
  operator: Operator;
  section: Section;
  x: number;
  y: number;
  width: number;
}
interface Frame {
  name: string;
  x: number;
  y: number;
  width: number;
  title: boolean; // of a section rather than a block
}
export interface FlowLayout {
  boxes: Placed[];
  frames: Frame[];
  height: number;
}

const boxHeight = 40,
  gap = 16,
  rowGap = 26,
  headHeight = 26;

function widthOf(operator: Operator, width: number): number {
  const text = Math.max(operator.name.length * 6.6, (operator.limited_by.length + 7) * 5.4) + 14;
  return Math.min(width, text + Math.sqrt(operator.share) * Math.min(220, width * 0.3));
}

export function layOut(sections: Section[], width: number): FlowLayout {
  const boxes: Placed[] = [],
    frames: Frame[] = [];
  let y = 0;
  for (const section of sections) {
    const repeats = section.repeats > 1 ? ` × ${section.repeats}` : '';
    frames.push({
      name: `${section.pass === 'forward' || section.pass === section.name ? '' : `${section.pass} `}${section.name}${repeats} · ${percent(section.share)}`,
      x: 0,
      y,
      width,
      title: true,
    });
    y += headHeight + 12;
    let x = 0;
    for (const operator of section.operators) {
      const wide = widthOf(operator, width);
      if (x > 0 && x + wide > width) {
        x = 0;
        y += boxHeight + rowGap;
      }
      const frame = frames[frames.length - 1]!;
      if (operator.block) {
        if (!frame.title && frame.name === operator.block && frame.y === y - 14) frame.width = x + wide - frame.x + 4;
        else frames.push({ name: operator.block, x: x - 4, y: y - 14, width: wide + 8, title: false });
      }
      boxes.push({ operator, section, x, y, width: wide });
      x += wide + gap;
    }
    y += boxHeight + 16;
  }
  return { boxes, frames, height: y };
}

export interface FlowProps {
  sections: Section[];
  classes: string[]; // in the order of colours
  picked?: number;
  onPick: (index: number) => void;
  label: string;
}

export function Flow({ sections, classes, picked, onPick, label }: FlowProps) {
  const [box, width] = useWidth();
  const layout = layOut(sections, width - 10);
  const labels = layout.boxes.map(({ operator, section }) =>
    [
      `${operator.block ? `${operator.block} ` : ''}${operator.name}`,
      `${microseconds(operator.time_us)} of the step, ${percent(operator.share)}${section.repeats > 1 ? `; ${microseconds(operator.time_us / section.repeats)} in each layer` : ''}`,
      `limited by ${operator.limited_by}`,
    ].join('\n'),
  );
  const marks = useMarks(labels, box, onPick, picked);
  return (
    <div class="chart flow" ref={box}>
      <Legend names={classes} colours={classes.map((_, i) => colour(i))} />
      <svg width={width} height={layout.height} role="group" aria-label={label}>
        <g transform="translate(5 0)">
          {layout.frames.map((frame) =>
            frame.title ? (
              <text x={0} y={frame.y + 16} class="section">
                {frame.name}
              </text>
            ) : (
              <g>
                <rect x={frame.x} y={frame.y} width={frame.width} height={boxHeight + 18} rx={6} class="frame" />
                <text x={frame.x + 5} y={frame.y + 10} class="block">
                  {frame.name}
                </text>
              </g>
            ),
          )}
          {layout.boxes.map(({ operator, section, x, y, width: wide }, i) => {
            const before = layout.boxes[i - 1];
            const follows = before && before.section === section && before.y === y;
            return (
              <g class={marks.item(i)}>
                {follows && (
                  <path class="arrow" d={`M${before.x + before.width + 2} ${y + boxHeight / 2}H${x - 3}m-4 -3l4 3l-4 3`} />
                )}
                <rect x={x} y={y} width={wide} height={boxHeight} rx={4} class="paper" />
                <rect
                  x={x}
                  y={y}
                  width={wide}
                  height={boxHeight}
                  rx={4}
                  class="span"
                  style={{ fill: colour(classes.indexOf(operator.class)), fillOpacity: 0.1 + 0.45 * Math.sqrt(operator.share) }}
                />
                <rect
                  x={x}
                  y={y + boxHeight - 4}
                  width={Math.max(1, wide * operator.share)}
                  height={4}
                  style={{ fill: colour(classes.indexOf(operator.class)) }}
                />
                <text x={x + 7} y={y + 15} class="name">
                  {operator.name}
                </text>
                <text x={x + 7} y={y + 29} class="small">
                  {percent(operator.share)} · {operator.limited_by}
                </text>
                <rect x={x} y={y} width={wide} height={boxHeight} {...marks.props(i)} />
              </g>
            );
          })}
        </g>
      </svg>
      {marks.tooltip}
    </div>
  );
}
