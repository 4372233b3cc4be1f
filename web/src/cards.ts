// Cards that do not exist: a real one with some fields changed. Changes are kept by path ("dram.gb_per_s"), so that a
// link says what differs and nothing else.
export type Changes = Record<string, number | string | boolean>;

export interface Leaf {
  path: string;
  value: number | string | boolean;
}

// Texts about a card and names of it describe no hardware.
const about = new Set(['name', 'aliases', 'notes', 'sources', 'published_peak_tflops', 'like']);

// Every field of a description that can be edited, in its order.
export function leavesOf(description: Record<string, unknown>, prefix = ''): Leaf[] {
  return Object.entries(description).flatMap(([key, value]): Leaf[] => {
    if (prefix === '' && about.has(key)) return [];
    const path = prefix + key;
    if (typeof value === 'object' && value !== null)
      return Array.isArray(value) ? [] : leavesOf(value as Record<string, unknown>, `${path}.`);
    return typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean' ? [{ path, value }] : [];
  });
}

// The description to ask with. Field names of some tables hold slashes ("bf16/fp32") but never dots.
export function descriptionOf(like: string, name: string, changes: Changes): Record<string, unknown> {
  const description: Record<string, unknown> = { like, name };
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split('.');
    let inner = description;
    for (const key of keys.slice(0, -1)) inner = (inner[key] ??= {}) as Record<string, unknown>;
    inner[keys[keys.length - 1]!] = value;
  }
  return description;
}

const units: Record<string, string> = {
  power_w: 'W',
  registers_per_sm: '32-bit registers',
  mib: 'MiB',
  gib: 'GiB',
  gb_per_s: 'GB/s',
  bytes_per_clock: 'bytes a clock',
  bytes_per_clock_per_sm: 'bytes a clock and SM',
  per_sm_kib: 'KiB',
  per_cta_kib: 'KiB',
  nvlink_gb_per_s: 'GB/s each way',
  pcie_gb_per_s: 'GB/s each way',
};
export function unitOf(path: string): string {
  if (path.startsWith('clock_mhz.')) return 'MHz';
  if (path.includes('_ops_per_clock_per_sm.')) return 'operations a clock and SM';
  return units[path.slice(path.lastIndexOf('.') + 1)] ?? '';
}
const titles: Record<string, string> = {
  sms: 'SMs',
  'clock_mhz.quoted': 'quoted clock',
  'clock_mhz.quoted_vector': 'quoted clock, vector',
  'clock_mhz.max': 'highest clock',
  power_w: 'power limit',
  'shared_memory.per_sm_kib': 'shared memory of an SM',
  'shared_memory.per_cta_kib': 'shared memory of a CTA',
  'shared_memory.bytes_per_clock_per_sm': 'shared memory rate',
  'l2.mib': 'L2',
  'l2.bytes_per_clock': 'L2 rate',
  'dram.gib': 'DRAM',
  'dram.gb_per_s': 'DRAM bandwidth',
  'dram.type': 'DRAM type',
  'dram.ecc': 'DRAM with ECC',
  'links.nvlink_gb_per_s': 'NVLink',
  'links.pcie_gb_per_s': 'PCIe',
  registers_per_sm: 'registers of an SM',
};
export const titleOf = (path: string): string =>
  titles[path] ?? path.replace(/^(tensor|vector)_ops_per_clock_per_sm\./, '$1 ').replace(/[_.]/g, ' ');

// What a slider goes through: from an eighth to four times a figure, in steps that look round.
export function rangeOf(value: number): { min: number; max: number; step: number } {
  const power = 10 ** Math.floor(Math.log10(Math.max(1e-9, value)) - 1);
  const step = value >= 10 ? Math.max(1, power) : power;
  return { min: Math.max(step, Math.round(value / 8 / step) * step), max: Math.round((value * 4) / step) * step, step };
}
// The fields that people ask about first.
export const leading = [
  'sms',
  'clock_mhz.max',
  'dram.gb_per_s',
  'dram.gib',
  'l2.mib',
  'power_w',
  'links.nvlink_gb_per_s',
  'tensor_ops_per_clock_per_sm.bf16/fp32',
  'tensor_ops_per_clock_per_sm.fp8/fp32',
];
