// Points with both intervals, coloured by group; the ones that nothing beats joined to a Pareto front.
import { BottomAxis, LeftAxis, Legend, type PlaneProps } from './axis';
import { colour, useMarks, useWidth } from './marks';
import { largest, least, linear, logarithmic } from './scale';

export interface Dot {
  x: number;
  y: number;
  xInterval?: readonly [number, number];
  yInterval?: readonly [number, number];
  name: string;
  group: string;
  front?: boolean;
  faint?: boolean;
  more?: string[];
}

export interface ScatterProps extends PlaneProps {
  dots: Dot[];
  height?: number;
  picked?: number;
  onPick?: (index: number) => void;
}

export function Scatter({ dots, xText, yText, xTitle, yTitle, label, logX, logY, height = 340, picked, onPick }: ScatterProps) {
  const [box, width] = useWidth();
  const groups = [...new Set(dots.map((dot) => dot.group))];
  const labels = dots.map((dot) => [
    dot.name,
    `${xTitle} ${xText(dot.x)}${dot.xInterval ? ` (${xText(dot.xInterval[0])} – ${xText(dot.xInterval[1])})` : ''}`,
    `${yTitle} ${yText(dot.y)}${dot.yInterval ? ` (${yText(dot.yInterval[0])} – ${yText(dot.yInterval[1])})` : ''}`,
    ...(dot.more ?? []),
  ].join('\n'));
  const marks = useMarks(labels, box, onPick, picked);
  const xs = dots.flatMap((dot) => [dot.x, ...(dot.xInterval ?? [])]), ys = dots.flatMap((dot) => [dot.y, ...(dot.yInterval ?? [])]);
  const left = 58, right = width - 14, top = 22, bottom = height - 40;
  const x = logX ? logarithmic(least(xs) * 0.9, largest(xs) * 1.1, left, right) : linear(0, largest(xs) * 1.05 || 1, left, right, width < 480 ? 4 : 7);
  const y = logY ? logarithmic(least(ys) * 0.9, largest(ys) * 1.1, bottom, top) : linear(0, largest(ys) * 1.05 || 1, bottom, top);
  const front = dots.filter((dot) => dot.front).sort((a, b) => a.x - b.x);
  return (
    <div class="chart" ref={box}>
      <Legend names={groups} colours={groups.map((_, i) => colour(i))} />
      <svg width={width} height={height} role="group" aria-label={label}>
        <LeftAxis scale={y} text={yText} title={yTitle} x={left} to={right} />
        <BottomAxis scale={x} text={xText} title={xTitle} y={bottom} from={left} to={right} top={top} />
        {front.length > 1 && <path class="front" d={front.map((dot, i) => `${i ? 'L' : 'M'}${x.at(dot.x)} ${y.at(dot.y)}`).join('')} />}
        {dots.map((dot, i) => (
          <g class={marks.item(i)} style={{ color: colour(groups.indexOf(dot.group)) }}>
            {dot.xInterval && <line x1={x.at(dot.xInterval[0])} x2={x.at(dot.xInterval[1])} y1={y.at(dot.y)} y2={y.at(dot.y)} class="reachline" />}
            {dot.yInterval && <line y1={y.at(dot.yInterval[0])} y2={y.at(dot.yInterval[1])} x1={x.at(dot.x)} x2={x.at(dot.x)} class="reachline" />}
            <circle cx={x.at(dot.x)} cy={y.at(dot.y)} r={dot.front ? 5 : 4} class={dot.faint ? 'dot faint' : 'dot'} />
            <circle cx={x.at(dot.x)} cy={y.at(dot.y)} r={10} {...marks.props(i)} />
          </g>
        ))}
      </svg>
      {marks.tooltip}
    </div>
  );
}
