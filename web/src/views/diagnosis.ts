// The document of `diagnose`, as far as the page draws it (docs/json.md).
import type { AnswerFile, Interval } from '../api';

export interface DiagnosedKernel {
  kernel: string;
  name: string;
  family: string;
  library: string;
  operator: string;
  calls: number;
  launches: number;
  total_us: number;
  per_call_us: number;
  forecast?: {
    family: string;
    dtype: string;
    dims: Record<string, string>;
    shape_from: string;
    forecast_us: number;
    interval_us: Interval;
    ceiling_us: number;
    ceiling_from: string;
    bound_us: number;
    limited_by: string;
    seen: boolean;
  };
  above_ceiling_us?: number;
  underperforms?: boolean;
}

export interface DiagnosedFamily {
  family: string;
  total_us: number;
  launches: number;
  forecast_us: number;
  above_ceiling_us: number;
}

export interface DiagnosedDevice {
  device: number;
  window_us: number;
  busy_us: number;
  idle_us: number;
  idle_host_late_us: number;
  idle_launched_us: number;
  idle_unexplained_us: number;
  gaps: number;
  launches: number;
  exposed_collectives_us: number;
  exposed_copies_us: number;
  host_bound_us: number;
}

export interface Diagnosis {
  trace: string;
  format: string;
  recorded_on: string;
  gpu: string;
  total_us: number;
  recognised_share: number;
  forecast_share: number;
  above_ceiling_us: number;
  families: DiagnosedFamily[];
  kernels: DiagnosedKernel[];
  devices: DiagnosedDevice[];
  host: { call: string; count: number; total_us: number }[];
  advice: { title: string; reason: string; action: string; at_stake_us: number }[];
  notes: string[];
  files?: AnswerFile[]; // the report as a page, its pictures
}
