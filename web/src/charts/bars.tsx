// Horizontal bars with their 80 % intervals: one bar a row, its figure written beside it.
import { BottomAxis } from './axis';
import { type Marks, colour, fitted, useMarks, useWidth } from './marks';
import { largest, linear } from './scale';

export interface Bar {
  name: string;
  value: number;
  interval?: readonly [number, number];
  bound?: number; // no faster than this: drawn as a thin line
  colour?: number;
  note?: string | undefined; // small, behind the figure: the seen mark
  faint?: boolean; // does not fit, or is only possible elsewhere
  more?: string[]; // lines of the tooltip
}

export interface BarsProps {
  bars: Bar[];
  text: (value: number) => string;
  title: string;
  label: string; // what a screen reader calls the chart
  whiskers?: string; // what they are, in words
  picked?: number;
  onPick?: (index: number) => void;
}

// A row's height, where its bar is, and how wide names are. On a phone long names stand above their bars.
interface Layout {
  height: number;
  middle: number;
  labelWidth: number;
  stacked: boolean;
}
function layoutOf(width: number, longest: number): Layout {
  const wanted = 18 + 7.2 * longest, most = width * 0.36;
  if (width < 520 && wanted > most) return { height: 48, middle: 31, labelWidth: 16, stacked: true };
  return { height: 34, middle: 17, labelWidth: Math.min(most, wanted), stacked: false };
}

function Row({
  bar,
  y,
  x,
  layout,
  width,
  text,
  marks,
  index,
}: {
  bar: Bar;
  y: number;
  x: (value: number) => number;
  layout: Layout;
  width: number;
  text: (value: number) => string;
  marks: Marks;
  index: number;
}) {
  const { height, labelWidth, stacked } = layout;
  const middle = y + layout.middle,
    end = Math.max(x(bar.value), x(bar.interval?.[1] ?? 0));
  return (
    <g class={marks.item(index)}>
      <rect x={0} y={y + 1} width="100%" height={height - 2} rx={3} class="row" />
      <text x={stacked ? 4 : labelWidth - 8} y={stacked ? y + 16 : middle + 4} text-anchor={stacked ? 'start' : 'end'} class="name">
        {fitted(bar.name, stacked ? width : labelWidth)}
      </text>
      <rect
        x={x(0)}
        y={middle - 9}
        width={Math.max(1, x(bar.value) - x(0))}
        height={18}
        rx={2}
        style={{ fill: colour(bar.colour ?? 0) }}
        class={bar.faint ? 'bar faint' : 'bar'}
      />
      {bar.bound !== undefined && bar.bound > 0 && (
        <line x1={x(bar.bound)} x2={x(bar.bound)} y1={middle - 9} y2={middle + 9} class="bound" />
      )}
      {bar.interval && bar.interval[1] > bar.interval[0] && (
        <g class="whisker">
          <line x1={x(bar.interval[0])} x2={x(bar.interval[1])} y1={middle} y2={middle} />
          <line x1={x(bar.interval[0])} x2={x(bar.interval[0])} y1={middle - 5} y2={middle + 5} />
          <line x1={x(bar.interval[1])} x2={x(bar.interval[1])} y1={middle - 5} y2={middle + 5} />
        </g>
      )}
      <text x={end + 7} y={middle + 4} class="figure">
        {text(bar.value)}
        {bar.note && (
          <tspan class="note" dx={6}>
            {bar.note}
          </tspan>
        )}
      </text>
      <rect x={0} y={y + 1} width="100%" height={height - 2} {...marks.props(index)} />
    </g>
  );
}

export function IntervalBars({ bars, text, title, label, whiskers = '80 % interval', picked, onPick }: BarsProps) {
  const [box, width] = useWidth();
  const labels = bars.map((bar) =>
    [
      bar.name,
      `${text(bar.value)}${bar.interval ? `, ${whiskers} ${text(bar.interval[0])} – ${text(bar.interval[1])}` : ''}`,
      ...(bar.more ?? []),
    ].join('\n'),
  );
  const marks = useMarks(labels, box, onPick, picked);
  const layout = layoutOf(width, largest(bars.map((bar) => bar.name.length))), { labelWidth } = layout;
  const longest = largest(bars.map((bar) => bar.note?.length ?? 0));
  const noted = 66 + 6.4 * longest < 0.55 * width; // on a phone long notes would leave no room for bars
  const noteWidth = 66 + (noted ? 6.4 * longest : 0);
  const height = bars.length * layout.height;
  const scale = linear(
    0,
    largest(bars.flatMap((bar) => [bar.value, bar.interval?.[1] ?? 0])) || 1,
    labelWidth,
    Math.max(labelWidth + 60, width - noteWidth),
    width < 480 ? 3 : 6,
  );
  return (
    <div class="chart" ref={box}>
      <svg width={width} height={height + 38} role="group" aria-label={label}>
        <BottomAxis scale={scale} text={text} title={title} y={height + 2} from={labelWidth} to={width - 4} top={0} />
        {bars.map((bar, i) => (
          <Row
            key={i}
            bar={noted ? bar : { ...bar, note: undefined }}
            y={i * layout.height}
            x={scale.at}
            layout={layout}
            width={width}
            text={text}
            marks={marks}
            index={i}
          />
        ))}
      </svg>
      {marks.tooltip}
    </div>
  );
}
