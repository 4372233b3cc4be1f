// What a step needs of the cards' memory, what fits, and what would make it fit: each suggestion is asked, not guessed.
import { useAnswer } from '../answer';
import type { Query } from '../api';
import { Stacks } from '../charts/stack';
import { type MemoryBytes, type Step, variantNames } from '../documents';
import { Figure } from '../figure';
import { bytes, grouped } from '../format';
import { type GpuSummary, useGpus } from '../forms/gpus';
import { Fact } from '../parts';
import { type Column, figure } from '../table';

const parts: [keyof MemoryBytes, string][] = [
  ['weights', 'weights'],
  ['gradients', 'gradients'],
  ['optimizer', 'optimizer'],
  ['activations', 'activations'],
  ['cache', 'KV cache'],
  ['workspace', 'workspace'],
];
type Row = { name: string; memory: MemoryBytes };

const columns: Column<Row>[] = [
  { name: 'GPU', value: (row) => row.name },
  ...parts.map(([key, name]) => figure<Row>(`${name} (bytes)`, (row) => row.memory[key] as number, bytes)),
  figure('total (bytes)', (row) => row.memory.total, bytes),
  figure('usable (bytes)', (row) => row.memory.usable, bytes),
  { name: 'fits', value: (row) => row.memory.fits, text: (row) => (row.memory.fits ? 'yes' : 'no') },
];

interface Try {
  name: string;
  change: Query;
}

// What people try when a step does not fit, by mode. Formats that a card has no pipe for are not among them.
function triesOf(query: Query, step: Step, narrow: string): Try[] {
  const batch = Number(query.batch ?? 1),
    half = String(Math.max(1, Math.floor(batch / 2)));
  const smaller: Try[] = batch > 1 ? [{ name: `batch ${half}`, change: { batch: half } }] : [];
  if (step.mode === 'train')
    return [
      { name: 'recompute whole layers in the backward pass', change: { recompute: 'full' } },
      { name: 'adapters instead of all weights (LoRA)', change: { tune: 'lora' } },
      { name: 'adapters beside 4-bit weights (QLoRA)', change: { tune: 'qlora' } },
      ...smaller,
    ];
  if ((step.memory_bytes?.cache ?? 0) === 0) return smaller;
  return [
    { name: '8-bit weights', change: { dtype: narrow } },
    { name: 'fp8 KV cache', change: { kv_dtype: 'fp8' } },
    { name: '8-bit weights, fp8 KV cache', change: { dtype: narrow, kv_dtype: 'fp8' } },
    { name: '4-bit weights', change: { dtype: 'int4_wo' } },
    { name: '4-bit weights, fp8 KV cache', change: { dtype: 'int4_wo', kv_dtype: 'fp8' } },
    ...smaller,
  ];
}

// Known cards with more memory, the smallest that fit first.
function Larger({ query, step, known }: { query: Query; step: Step; known: GpuSummary[] }) {
  const memory = step.memory_bytes!;
  const own = known.find((gpu) => gpu.name === step.gpu);
  const more = known
    .filter((gpu) => gpu.dram_bytes >= memory.total && gpu.dram_bytes > (own?.dram_bytes ?? 0))
    .sort((a, b) => a.dram_bytes - b.dram_bytes)
    .slice(0, 6)
    .map((gpu) => gpu.name);
  const { answer } = useAnswer<Step[]>('memory', more.length ? { ...query, gpu: more } : undefined);
  const fitting = (answer ?? []).filter((row) => row.memory_bytes?.fits).map((row) => row.gpu);
  return fitting.length ? <li class="good">another card: fits {fitting.join(', ')}</li> : null;
}

// One that saves nothing is no advice. Those that suffice and those that fall short stand in lists of their own.
function Suggestion({ query, gpu, attempt, than, fits }: { query: Query; gpu: unknown; attempt: Try; than: number; fits: boolean }) {
  const { answer } = useAnswer<Step[]>('memory', { ...query, gpu, ...attempt.change });
  const memory = answer?.[0]?.memory_bytes;
  if (!memory || memory.total > 0.99 * than || memory.fits !== fits) return null;
  return (
    <li class={fits ? 'good' : ''}>
      {attempt.name}: {bytes(memory.total)} of {bytes(memory.usable)}{fits ? ', fits' : ''}
    </li>
  );
}

// The plan that spreads it, asked about the same model and card.
function planLink(query: Query, step: Step, cards: number): string {
  const model = typeof query.model === 'string' ? query.model : '';
  const about = new URLSearchParams({
    ...(model ? { model } : {}),
    gpus: step.mode === 'train' ? `${Math.max(8, cards)}x${step.gpu}` : step.gpu,
    ...(step.mode === 'train' ? { global_batch: String(query.batch ?? 1), seq: String(query.seq ?? 4096) } : { rate: '4', slo: 'ttft=1s,tpot=50ms', input: '1024', output: '256', _tab: 'plan' }),
  });
  return `#/${step.mode === 'train' ? 'train' : 'serve'}?${about}`;
}

function largestPart(memory: MemoryBytes): string {
  return parts.reduce((best, part) => ((memory[part[0]] as number) > (memory[best[0]] as number) ? part : best))[1];
}

function Advice({ step, query, gpu, name }: { step: Step; query: Query; gpu: unknown; name: string }) {
  const known = useGpus();
  const { answer } = useAnswer<Step[]>('memory', { ...query, gpu });
  const full = answer?.[0],
    memory = full?.memory_bytes ?? step.memory_bytes;
  if (!memory) return null;
  const cards = Math.ceil(memory.total / memory.usable);
  const hasFp8 = Object.keys(known.find((one) => one.name === step.gpu)?.peak_tflops ?? {}).some((mode) =>
    mode.startsWith('tensor fp8'),
  );
  const tries = triesOf(query, step, hasFp8 ? 'fp8' : 'int8_wo');
  return (
    <div class="memory-advice">
      <dl class="facts">
        <Fact
          name={`on ${name}`}
          more={
            memory.fits ? `${bytes(memory.usable - memory.total)} to spare` : `${bytes(memory.total - memory.usable)} too much`
          }
        >
          {memory.fits ? 'fits' : 'does not fit'}
        </Fact>
        <Fact name="most of it">{largestPart(memory)}</Fact>
        {full && memory.fits && <Fact name="largest batch">{grouped(full.largest_batch ?? 0)}</Fact>}
        {full && memory.fits && (
          <Fact name={step.mode === 'decode' ? 'longest context' : 'longest sequence'}>
            {grouped(full.longest_sequence ?? 0)}
          </Fact>
        )}
        {memory.cache_room_tokens ? (
          <Fact name="tokens that the cache has room for">{grouped(memory.cache_room_tokens)}</Fact>
        ) : null}
      </dl>
      {!memory.fits && known.length > 0 && (
        <>
          <h3>What to try</h3>
          <ul>
            {tries.map((attempt) => (
              <Suggestion key={attempt.name} query={query} gpu={gpu} attempt={attempt} than={memory.total} fits />
            ))}
            <Larger query={query} step={step} known={known} />
            <li>
              {cards} cards or more: give a cluster and a layout under “All settings”, or ask{' '}
              <a href={planLink(query, step, cards)}>for a plan</a>
            </li>
          </ul>
          <h3>What helps but does not suffice</h3>
          <ul class="short">
            {tries.map((attempt) => (
              <Suggestion key={attempt.name} query={query} gpu={gpu} attempt={attempt} than={memory.total} fits={false} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

export function Memory({
  steps,
  query,
  picked,
  gpuOf,
}: {
  steps: Step[];
  query: Query;
  picked: number;
  gpuOf: (index: number) => unknown;
}) {
  const names = variantNames(steps);
  const rows = steps.flatMap((step, i) => {
    const memory = step.memory_bytes;
    return memory ? [{ name: names[i]!, memory }] : [];
  });
  const shown = steps[picked];
  if (rows.length === 0 || !shown) return null;
  return (
    <Figure title="Memory" file="memory" columns={columns} rows={rows} note={<>The upright line is what a card leaves to fill.</>}>
      <Stacks
        parts={parts.map(([, name]) => name)}
        text={bytes}
        data
        title="memory of one card"
        label="Memory by what it holds, by card"
        limitName="usable"
        stacks={rows.map((row) => ({
          name: row.name,
          parts: parts.map(([key]) => row.memory[key] as number),
          limit: row.memory.usable,
          total: row.memory.total,
          note: row.memory.fits ? 'fits' : 'does not fit',
        }))}
      />
      {!shown.cluster && <Advice key={`${picked}`} step={shown} query={query} gpu={gpuOf(picked)} name={names[picked]!} />}
    </Figure>
  );
}
