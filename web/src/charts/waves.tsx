// SMs from left to right, waves from top to bottom: what is busy and what stands idle.
import { percent } from '../format';
import type { Waves } from '../waves';
import { useMarks, useWidth } from './marks';

const rowHeight = 18;

export function WaveGrid({ waves, sms, label }: { waves: Waves; sms: number; label: string }) {
  const [box, width] = useWidth();
  const left = 68,
    right = width - 8,
    cut = waves.of > waves.rows.length;
  const marks = useMarks(
    waves.rows.map(
      (row) =>
        `${row.name} of ${waves.of}\n${row.busy.toFixed(row.busy % 1 ? 1 : 0)} of ${sms} SMs’ slots, ${percent(row.busy / sms)}`,
    ),
    box,
  );
  const at = (sm: number) => left + (sm / sms) * (right - left);
  const cell = (right - left) / sms;
  const yOf = (i: number) => i * rowHeight + (cut && i === waves.rows.length - 1 ? 14 : 0);
  const height = yOf(waves.rows.length - 1) + rowHeight;
  return (
    <div class="chart" ref={box}>
      <svg width={width} height={height + 18} role="group" aria-label={label}>
        {waves.rows.map((row, i) => (
          <g class={marks.item(i)}>
            <text x={left - 8} y={yOf(i) + 13} text-anchor="end" class="name">
              {row.name}
            </text>
            <rect x={left} y={yOf(i) + 1} width={right - left} height={rowHeight - 3} class="idle" />
            <rect x={left} y={yOf(i) + 1} width={Math.max(0, at(row.busy) - left)} height={rowHeight - 3} class="busybar" />
            {cell >= 3 && (
              <path
                class="cells"
                d={Array.from({ length: sms - 1 }, (_, sm) => `M${at(sm + 1)} ${yOf(i) + 1}v${rowHeight - 3}`).join('')}
              />
            )}
            <rect x={left} y={yOf(i) + 1} width={right - left} height={rowHeight - 3} {...marks.props(i)} />
          </g>
        ))}
        {cut && (
          <text x={left + 4} y={yOf(waves.rows.length - 1) - 2} class="small">
            {waves.of - waves.rows.length} full ones more
          </text>
        )}
        <text x={right} y={height + 13} text-anchor="end" class="small">
          {sms} SMs
        </text>
      </svg>
      {marks.tooltip}
    </div>
  );
}
