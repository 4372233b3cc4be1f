// Lines over a shared axis, each with the band of its 80 % intervals; limits as dashed lines with the far side shaded.
import { BottomAxis, LeftAxis, Legend, type PlaneProps } from './axis';
import { colour, useMarks, useWidth } from './marks';
import { type Scale, binary, largest, least, linear, logarithmic } from './scale';

export interface Point {
  x: number;
  y: number;
  interval?: readonly [number, number];
  more?: string[];
}
export interface Line {
  name: string;
  points: Point[];
  colour?: number;
  dashed?: boolean;
}
export interface Limit {
  y: number;
  name: string;
}

const mostMarks = 120;
const mostDots = 30; // of a line: more would be a second line, and show where somebody points at them alone

export interface LinesProps extends PlaneProps {
  lines: Line[];
  base?: number; // of a logarithmic x axis: 2 or 10
  limits?: Limit[]; // an objective: what lies above it is shaded
  height?: number;
  data?: boolean; // y is an amount of data, whose round figures are powers of 1024
  steps?: boolean; // a value holds until the next one
  onPick?: (line: number, point: number) => void;
}

const path = (points: Point[], x: Scale, y: Scale, steps: boolean): string =>
  points
    .map((point, i) => {
      const before = points[i - 1];
      const corner = steps && before ? `L${x.at(point.x)} ${y.at(before.y)}` : '';
      return `${corner}${i === 0 ? 'M' : 'L'}${x.at(point.x)} ${y.at(point.y)}`;
    })
    .join('');

function band(points: Point[], x: Scale, y: Scale): string {
  const known = points.filter((point) => point.interval);
  if (known.length < 2) return '';
  const upper = known.map((point) => `${x.at(point.x)} ${y.at(point.interval![1])}`);
  const lower = known.map((point) => `${x.at(point.x)} ${y.at(point.interval![0])}`).reverse();
  return `M${upper.join('L')}L${lower.join('L')}Z`;
}

export function Lines({
  lines,
  xText,
  yText,
  xTitle,
  yTitle,
  label,
  logX,
  logY,
  base = 10,
  limits = [],
  height = 260,
  steps = false,
  data = false,
  onPick,
}: LinesProps) {
  const [box, width] = useWidth();
  const whole = lines.flatMap((line, i) => line.points.map((point, j) => ({ line, i, j, point })));
  // Of very many points some have marks to point at; the line, the table and the exports have all.
  const every = Math.ceil(whole.length / mostMarks);
  const all = whole.filter(({ j }) => j % every === 0);
  const labels = all.map(({ line, point }) =>
    [
      lines.length > 1 ? `${line.name}: ${xTitle} ${xText(point.x)}` : `${xTitle} ${xText(point.x)}`,
      `${yTitle} ${yText(point.y)}${point.interval ? `, 80 % interval ${yText(point.interval[0])} – ${yText(point.interval[1])}` : ''}`,
      ...(point.more ?? []),
    ].join('\n'),
  );
  const marks = useMarks(labels, box, onPick && ((index) => onPick(all[index]!.i, all[index]!.j)));
  const xs = whole.map(({ point }) => point.x);
  const ys = whole.flatMap(({ point }) => [point.y, ...(point.interval ?? [])]).concat(limits.map((limit) => limit.y));
  const left = 58,
    right = width - 14,
    top = 22,
    bottom = height - 40;
  const x = logX
    ? logarithmic(least(xs), largest(xs), left, right, width < 480 ? 5 : 8, base)
    : linear(Math.min(0, least(xs)), largest(xs) || 1, left, right, width < 480 ? 4 : 8);
  const y = logY
    ? logarithmic(least(ys.filter((value) => value > 0)), largest(ys) * 1.1, bottom, top, 5)
    : (data ? binary : linear)(0, largest(ys) * 1.06 || 1, bottom, top);
  const many = largest(lines.map((line) => line.points.length)) > mostDots;
  return (
    <div class="chart" ref={box}>
      <Legend names={lines.map((line) => line.name)} colours={lines.map((line, i) => colour(line.colour ?? i))} />
      <svg width={width} height={height} role="group" aria-label={label}>
        {limits.map((limit) => (
          <rect x={left} width={Math.max(0, right - left)} y={top} height={Math.max(0, y.at(limit.y) - top)} class="beyond" />
        ))}
        <LeftAxis scale={y} text={yText} title={yTitle} x={left} to={right} />
        <BottomAxis scale={x} text={xText} title={xTitle} y={bottom} from={left} to={right} top={top} />
        {limits.map((limit) => (
          <g class="limit">
            <line x1={left} x2={right} y1={y.at(limit.y)} y2={y.at(limit.y)} />
            <text x={left + 6} y={y.at(limit.y) - 5}>
              {limit.name}
            </text>
          </g>
        ))}
        {lines.map((line, i) => (
          <g style={{ color: colour(line.colour ?? i) }}>
            <path d={band(line.points, x, y)} class="band" />
            <path d={path(line.points, x, y, steps)} class={line.dashed ? 'line dashed' : 'line'} />
          </g>
        ))}
        {all.map(({ line, i, point }, index) => (
          <g class={marks.item(index)} style={{ color: colour(line.colour ?? i) }}>
            <circle cx={x.at(point.x)} cy={y.at(point.y)} r={3.5} class={many ? 'dot unseen' : 'dot'} />
            <circle cx={x.at(point.x)} cy={y.at(point.y)} r={many ? 6 : 10} {...marks.props(index)} />
          </g>
        ))}
      </svg>
      {marks.tooltip}
    </div>
  );
}
