// A card that does not exist: a real one, any field of it changed.
import { useId, useState } from 'preact/hooks';
import { useGet } from '../answer';
import { type Changes, type Leaf, leading, leavesOf, rangeOf, titleOf, unitOf } from '../cards';
import { GpuPicker } from '../forms/gpus';

function Field({
  leaf,
  value,
  onChange,
}: {
  leaf: Leaf;
  value: number | string | boolean;
  onChange: (value: number | string | boolean | undefined) => void;
}) {
  const id = useId();
  const changed = value !== leaf.value;
  const [typed, setTyped] = useState<string>();
  if (typeof leaf.value === 'boolean')
    return (
      <div class="control yesno">
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked === leaf.value ? undefined : event.currentTarget.checked)}
        />
        <label for={id}>{titleOf(leaf.path)}</label>
      </div>
    );
  const numeric = typeof leaf.value === 'number';
  const take = (text: string) => {
    setTyped(text);
    if (text === '' || text === String(leaf.value)) return onChange(undefined);
    if (!numeric) return onChange(text);
    if (Number.isFinite(Number(text))) onChange(Number(text));
  };
  const range = numeric && (leaf.value as number) > 0 ? rangeOf(leaf.value as number) : undefined;
  return (
    <div class={changed ? 'control edited' : 'control'}>
      <label for={id}>
        {titleOf(leaf.path)} <span class="unit">{unitOf(leaf.path)}</span>
      </label>
      <div class="slide">
        {range && (
          <input
            type="range"
            aria-label={`${titleOf(leaf.path)}, slider`}
            min={range.min}
            max={range.max}
            step={range.step}
            value={Number(value)}
            onInput={(event) => {
              setTyped(undefined);
              onChange(Number(event.currentTarget.value));
            }}
          />
        )}
        <input
          id={id}
          type="text"
          inputMode={numeric ? 'decimal' : 'text'}
          class="numeric"
          value={typed ?? String(value)}
          onInput={(event) => take(event.currentTarget.value)}
          onBlur={() => setTyped(undefined)}
        />
      </div>
      {changed && (
        <small>
          {String(leaf.value)} as built{' '}
          <button
            type="button"
            class="link"
            onClick={() => {
              setTyped(undefined);
              onChange(undefined);
            }}
          >
            put back
          </button>
        </small>
      )}
    </div>
  );
}

export interface HypotheticalProps {
  like: string; // '' : none
  changes: Changes;
  onChange: (given: { like?: string; changes?: Changes }) => void;
}

export function Hypothetical({ like, changes, onChange }: HypotheticalProps) {
  const { answer, error } = useGet<Record<string, unknown>>(like ? `/v1/gpus/${encodeURIComponent(like)}` : undefined);
  const [search, setSearch] = useState('');
  const leaves = answer ? leavesOf(answer) : [];
  const first = leading.flatMap((path) => leaves.filter((leaf) => leaf.path === path));
  const others = leaves.filter((leaf) => !leading.includes(leaf.path));
  const set = (path: string, value: number | string | boolean | undefined) => {
    const { [path]: _, ...rest } = changes;
    onChange({ changes: value === undefined ? rest : { ...rest, [path]: value } });
  };
  const show = (leaf: Leaf) => (
    <Field
      key={`${like} ${leaf.path}`}
      leaf={leaf}
      value={changes[leaf.path] ?? leaf.value}
      onChange={(value) => set(leaf.path, value)}
    />
  );
  const found = others.filter((leaf) => titleOf(leaf.path).includes(search.toLowerCase()));
  return (
    <section class="panel" aria-label="A card that does not exist">
      <div class="figurehead">
        <h2>A card that does not exist</h2>
        {like && (
          <button type="button" onClick={() => onChange({ like: '', changes: {} })}>
            Take it away
          </button>
        )}
      </div>
      <p class="quiet">Any field of a real card changed; it appears beside its parent at once.</p>
      <div class="narrow">
        <GpuPicker label="Like" value={like} onChange={(name) => onChange({ like: name, changes: {} })} />
      </div>
      {error && (
        <p class="error" role="alert">
          {error.message}
        </p>
      )}
      <div class="grid">{first.map(show)}</div>
      {others.length > 0 && (
        <details class="more">
          <summary>All {leaves.length} fields</summary>
          <label class="search narrow">
            Find a field <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
          </label>
          <div class="grid">{found.map(show)}</div>
        </details>
      )}
    </section>
  );
}
