// A model by name, or by value: a config.json pasted or dropped, an ONNX file, a recorded PyTorch program.
import { useId, useState } from 'preact/hooks';
import { useGet } from '../answer';
import { type GivenFile, fileByValue } from '../api';
import { count } from '../format';
import { Combo, type Offer } from './combo';

export type GivenModel = GivenFile | Record<string, unknown>;

interface ModelSummary {
  name: string;
  parameters?: number;
  dtype?: string;
  aliases?: string[];
}

export function useModels(): ModelSummary[] {
  return useGet<ModelSummary[]>('/v1/models').answer ?? [];
}

const offersOf = (models: ModelSummary[]): Offer[] =>
  models.map((model) => ({
    value: model.name,
    detail: model.parameters ? `${count(model.parameters)} parameters, ${model.dtype ?? ''}` : '',
    also: model.aliases ?? [],
  }));

export async function modelFromFile(file: File): Promise<GivenModel> {
  if (/\.json$/i.test(file.name) && file.size < 1 << 20) {
    const parsed: unknown = JSON.parse(await file.text());
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) && ('model_type' in parsed || 'architectures' in parsed))
      return parsed as Record<string, unknown>;
  }
  return fileByValue(file);
}

export const nameOfGiven = (given: GivenModel): string => {
  if ('base64' in given) return String(given.name);
  const config = given as Record<string, unknown>;
  return String(config._name_or_path || (config.architectures as string[] | undefined)?.[0] || config.model_type || 'config.json');
};

// A recorded program fixes everything but where and how it runs, an ONNX file or a graph its own shapes.
export type ModelKind = 'free' | 'fixed' | 'program';
export function kindOf(given: GivenModel | undefined): ModelKind {
  if (!given || !('base64' in given)) return 'free';
  const beginning = /\.json$/i.test(String(given.name)) ? atob(String(given.base64).slice(0, 64)) : '';
  return /\.gz$/i.test(String(given.name)) || beginning.includes('tilecast.program') ? 'program' : 'fixed';
}

export interface ModelPickerProps {
  value: string;
  given: GivenModel | undefined;
  onName: (name: string) => void;
  onGiven: (given: GivenModel | undefined) => void;
}

export function ModelPicker({ value, given, onName, onGiven }: ModelPickerProps) {
  const id = useId();
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState('');
  const models = useModels();
  const take = async (work: () => Promise<GivenModel>) => {
    try {
      onGiven(await work());
      setProblem('');
    } catch {
      setProblem('no JSON of a configuration: paste the whole config.json');
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (file) void take(() => modelFromFile(file));
  };
  return (
    <div class={over ? 'dropzone over' : 'dropzone'} onDragOver={(event) => {
      event.preventDefault();
      setOver(true);
    }} onDragLeave={() => setOver(false)} onDrop={drop}>
      {given
        ? <p class="given">{nameOfGiven(given)} <button type="button" onClick={() => onGiven(undefined)}>use a known model</button></p>
        : <Combo label="Model" value={value} offers={offersOf(models)} onPick={onName} />}
      <details class="paste">
        <summary>or your own: config.json, ONNX, recorded program</summary>
        <label for={`${id}-file`}>File (drop it here as well)</label>
        <input id={`${id}-file`} type="file" accept=".json,.gz,.onnx" onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void take(() => modelFromFile(file));
        }} />
        <label for={`${id}-text`}>Paste a config.json</label>
        <textarea id={`${id}-text`} rows={4} spellcheck={false} onChange={(event) => {
          const text = event.currentTarget.value;
          if (text.trim()) void take(async () => JSON.parse(text) as Record<string, unknown>);
        }} />
        {problem && <p class="error" role="alert">{problem}</p>}
      </details>
    </div>
  );
}
