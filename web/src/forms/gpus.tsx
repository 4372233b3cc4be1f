// Cards picked by name: one, or several as chips.
import { useGet } from '../answer';
import { bytes, bytesPerSecond } from '../format';
import { Combo, type Offer } from './combo';

export interface GpuSummary {
  name: string;
  architecture: string;
  sms: number;
  power_w: number;
  dram_bytes: number;
  dram_bytes_per_s: number;
  peak_tflops: Record<string, number>;
  usd_per_hour?: number | null;
  price_source?: string;
}

export function useGpus(): GpuSummary[] {
  return useGet<GpuSummary[]>('/v1/gpus').answer ?? [];
}
const offersOf = (gpus: GpuSummary[]): Offer[] =>
  gpus.map((gpu) => ({ value: gpu.name, detail: `${gpu.architecture}, ${bytes(gpu.dram_bytes)}, ${bytesPerSecond(gpu.dram_bytes_per_s)}` }));

export function GpuPicker({ value, onChange, label = 'GPU' }: { value: string; onChange: (name: string) => void; label?: string }) {
  return <Combo label={label} value={value} offers={offersOf(useGpus())} onPick={onChange} />;
}

export function GpusPicker({ value, onChange, label = 'GPUs' }: { value: string; onChange: (names: string) => void; label?: string }) {
  const picked = value.split(',').map((name) => name.trim()).filter(Boolean);
  const set = (names: string[]) => onChange(names.join(','));
  return (
    <div class="chips">
      <Combo label={label} value="" clearOnPick offers={offersOf(useGpus()).filter((offer) => !picked.includes(offer.value))}
        placeholder="add a card" onPick={(name) => !picked.includes(name) && set([...picked, name])} />
      <ul aria-label={`${label} picked`}>
        {picked.map((name) => (
          <li>{name}<button type="button" aria-label={`remove ${name}`} onClick={() => set(picked.filter((one) => one !== name))}>×</button></li>
        ))}
      </ul>
    </div>
  );
}
