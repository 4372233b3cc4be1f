// A roofline on logarithmic axes: the roof of each card, and each kernel's points under it: as forecast with its
// interval, as a well-tuned kernel does, and where the bound lies.
import { operationsPerSecond, threeDigits } from '../format';
import { BottomAxis, LeftAxis, Legend } from './axis';
import { colour, useMarks, useWidth } from './marks';
import { largest, least, logarithmic } from './scale';

export interface Roof {
  name: string;
  intensity: number; // operations a byte
  peak: number; // operations a second
  feed: number; // bytes a second
  level: string; // that feeds it
  reached: number;
  interval: readonly [number, number];
  tuned: number; // what a well-tuned kernel reaches
  bound: number; // what no kernel beats
}

export const roofAt = (roof: Pick<Roof, 'peak' | 'feed'>, intensity: number): number =>
  Math.min(roof.peak, intensity * roof.feed);

export function Roofline({ roofs, label }: { roofs: Roof[]; label: string }) {
  const [box, width] = useWidth();
  const height = 320,
    left = 74,
    right = width - 16,
    top = 22,
    bottom = height - 40;
  const ridges = roofs.map((roof) => roof.peak / roof.feed);
  const low = Math.min(least(roofs.map((roof) => roof.intensity)), least(ridges)) / 8,
    high = Math.max(largest(roofs.map((roof) => roof.intensity)), largest(ridges)) * 8;
  const x = logarithmic(low, high, left, right, width < 480 ? 4 : 8);
  const rates = roofs.flatMap((roof) => [roof.interval[0], roof.reached, roof.peak, roofAt(roof, low)]);
  const y = logarithmic(least(rates.filter((rate) => rate > 0)) / 1.5, largest(rates) * 1.6, bottom, top, 6);
  const marks = useMarks(
    roofs.map((roof) =>
      [
        `${roof.name}: ${operationsPerSecond(roof.reached)} at ${threeDigits(roof.intensity)} operations a byte of ${roof.level}`,
        `80 % interval ${operationsPerSecond(roof.interval[0])} – ${operationsPerSecond(roof.interval[1])}`,
        `the roof there is ${operationsPerSecond(roofAt(roof, roof.intensity))}`,
        `well tuned ${operationsPerSecond(roof.tuned)}, bound ${operationsPerSecond(roof.bound)}`,
      ].join('\n'),
    ),
    box,
  );
  return (
    <div class="chart" ref={box}>
      <Legend names={roofs.map((roof) => roof.name)} colours={roofs.map((_, i) => colour(i))} />
      <svg width={width} height={height} role="group" aria-label={label}>
        <LeftAxis scale={y} text={operationsPerSecond} title="operations a second" x={left} to={right} />
        <BottomAxis
          scale={x}
          text={threeDigits}
          title={`operations per byte of ${[...new Set(roofs.map((roof) => roof.level))].join(' or ')}`}
          y={bottom}
          from={left}
          to={right}
          top={top}
        />
        {roofs.map((roof, i) => (
          <path
            style={{ color: colour(i) }}
            class="line"
            d={`M${x.at(x.low)} ${y.at(roofAt(roof, x.low))}L${x.at(roof.peak / roof.feed)} ${y.at(roof.peak)}H${right}`}
          />
        ))}
        {roofs.map((roof, i) => (
          <g class={marks.item(i)} style={{ color: colour(i) }}>
            <line
              x1={x.at(roof.intensity)}
              x2={x.at(roof.intensity)}
              y1={y.at(roof.interval[0])}
              y2={y.at(roof.interval[1])}
              class="whisker-line"
            />
            <path class="tuned" d={`M${x.at(roof.intensity) - 6} ${y.at(roof.tuned)}h12`} />
            <path class="tuned bound-mark" d={`M${x.at(roof.intensity) - 6} ${y.at(roof.bound) + 5}l6 -6l6 6`} />
            <circle cx={x.at(roof.intensity)} cy={y.at(roof.reached)} r={5} class="dot" />
            <circle cx={x.at(roof.intensity)} cy={y.at(roof.reached)} r={12} {...marks.props(i)} />
          </g>
        ))}
      </svg>
      {marks.tooltip}
    </div>
  );
}
