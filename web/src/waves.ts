// How a launch fills the SMs, row by row: a row is a wave of CTAs, or one more task of CTAs that stay.
import type { Launch } from './documents';

export interface WaveRow {
  busy: number; // SMs, counted in whole ones' worth of slots
  name: string;
}
export interface Waves {
  rows: WaveRow[]; // at most `most`
  of: number; // rows in all
  unit: string;
  lastShare: number; // how full the last one is
}

export function wavesOf(launch: Launch, sms: number, most = 14): Waves {
  const { ctas, ctas_per_sm, waves } = launch.plan;
  const schedule = launch.schedule;
  const persistent = schedule !== undefined && schedule.dispatch === 'persistent CTAs' && schedule.tasks_busiest > 1;
  const of = Math.max(1, persistent ? schedule.tasks_busiest : waves);
  // In rows' worth of SMs. Of CTAs that stay, the balance says how much less the others do than the busiest.
  const total = persistent ? schedule.balance * of * sms : ctas / Math.max(1, ctas_per_sm);
  const rows = Array.from({ length: Math.min(of, most) }, (_, i): WaveRow => {
    // The last row drawn is the last one there is; rows left out are full.
    const row = i === Math.min(of, most) - 1 ? of - 1 : i;
    return { busy: Math.max(0, Math.min(sms, total - row * sms)), name: `${persistent ? 'task' : 'wave'} ${row + 1}` };
  });
  return {
    rows,
    of,
    unit: persistent ? 'tasks of the busiest SM' : of === 1 ? 'wave' : 'waves',
    lastShare: (rows[rows.length - 1]?.busy ?? 0) / sms,
  };
}
