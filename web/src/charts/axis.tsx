import type { Scale } from './scale';

interface AxisProps {
  scale: Scale;
  text: (value: number) => string;
  title: string; // with its unit
}

export function BottomAxis({ scale, text, title, y, from, to, top }: AxisProps & { y: number; from: number; to: number; top: number }) {
  const room = 46; // px that a tick's text takes
  let last = -Infinity;
  return (
    <g class="axis">
      <line x1={from} x2={to} y1={y} y2={y} class="base" />
      {scale.ticks.map((tick) => {
        const x = scale.at(tick);
        const written = x - last >= room;
        if (written) last = x;
        return (
          <g>
            <line x1={x} x2={x} y1={top} y2={y} class="grid" />
            {written && <text x={x} y={y + 15} text-anchor="middle">{text(tick)}</text>}
          </g>
        );
      })}
      <text x={to} y={y + 31} text-anchor="end" class="title">{title}</text>
    </g>
  );
}

export function LeftAxis({ scale, text, title, x, to }: AxisProps & { x: number; to: number }) {
  return (
    <g class="axis">
      {scale.ticks.map((tick) => (
        <g>
          <line x1={x} x2={to} y1={scale.at(tick)} y2={scale.at(tick)} class="grid" />
          <text x={x - 6} y={scale.at(tick) + 4} text-anchor="end">{text(tick)}</text>
        </g>
      ))}
      <text x={2} y={12} class="title">{title}</text>
    </g>
  );
}

export function Legend({ names, colours }: { names: string[]; colours: string[] }) {
  if (names.length < 2) return null;
  return (
    <ul class="legend" aria-hidden="true">
      {names.map((name, i) => (
        <li><span class="swatch" style={{ background: colours[i] }} />{name}</li>
      ))}
    </ul>
  );
}

// What charts of two numbers share: how each is written, what it is called, and whether it is drawn by its logarithm.
export interface PlaneProps {
  xText: (value: number) => string;
  yText: (value: number) => string;
  xTitle: string;
  yTitle: string;
  label: string;
  logX?: boolean;
  logY?: boolean;
}
