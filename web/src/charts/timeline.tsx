// Spans in lanes over time: pipeline stages, steps of an engine.
import { BottomAxis, Legend } from './axis';
import { colour, useMarks, useWidth } from './marks';
import { largest, linear } from './scale';

export interface Span {
  lane: number;
  start: number;
  end: number;
  name: string;
  kind: number; // colour, and its name in the legend
  interval?: readonly [number, number]; // of how long it takes
  more?: string[];
}

export interface TimelineProps {
  lanes: string[];
  spans: Span[];
  kinds: string[];
  text: (value: number) => string;
  title: string;
  label: string;
  laneHeight?: number;
  end?: readonly [number, number]; // 80 % interval of when all of it is over, drawn below the lanes
}

export function Timeline({ lanes, spans, kinds, text, title, label, laneHeight = 26, end }: TimelineProps) {
  const [box, width] = useWidth();
  const labels = spans.map((span) =>
    [
      `${lanes[span.lane] ?? ''}: ${span.name}`,
      `${text(span.start)} – ${text(span.end)} (${text(span.end - span.start)}${span.interval ? `; 80 %: ${text(span.interval[0])} – ${text(span.interval[1])}` : ''})`,
      ...(span.more ?? []),
    ].join('\n'),
  );
  const marks = useMarks(labels, box);
  const labelWidth = Math.min(width * 0.3, 14 + 7 * largest(lanes.map((lane) => lane.length)));
  const scale = linear(0, largest([...spans.map((span) => span.end), end?.[1] ?? 0]) || 1, labelWidth, width - 12, width < 480 ? 3 : 7);
  const height = lanes.length * laneHeight;
  return (
    <div class="chart" ref={box}>
      <Legend names={kinds} colours={kinds.map((_, i) => colour(i))} />
      <svg width={width} height={height + 38} role="group" aria-label={label}>
        <BottomAxis scale={scale} text={text} title={title} y={height + 2} from={labelWidth} to={width - 4} top={0} />
        {lanes.map((lane, i) => (
          <text x={labelWidth - 8} y={i * laneHeight + laneHeight / 2 + 4} text-anchor="end" class="name">
            {lane}
          </text>
        ))}
        {end && (
          <g class="whisker">
            <title>{`it is over between ${text(end[0])} and ${text(end[1])} (80 %)`}</title>
            <line x1={scale.at(end[0])} x2={scale.at(end[1])} y1={height - 1} y2={height - 1} />
            {end.map((at) => <line x1={scale.at(at)} x2={scale.at(at)} y1={height - 5} y2={height + 3} />)}
          </g>
        )}
        {spans.map((span, i) => (
          <g class={marks.item(i)}>
            <rect
              {...marks.props(i)}
              x={scale.at(span.start)}
              y={span.lane * laneHeight + 3}
              width={Math.max(0.6, scale.at(span.end) - scale.at(span.start))}
              height={laneHeight - 6}
              style={{ fill: colour(span.kind) }}
              class="mark span"
            />
          </g>
        ))}
      </svg>
      {marks.tooltip}
    </div>
  );
}
