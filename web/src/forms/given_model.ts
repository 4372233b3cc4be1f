// A view's model by value: small configurations are part of its link, files stay with this tab.
import { useState } from 'preact/hooks';
import { type Values } from '../link';
import { type GivenModel, type ModelKind } from './model';

const largestInLink = 6000; // characters; longer links are cut by programs that pass them on

export type Config = Record<string, unknown> | null;

export function useGivenModel(config: Config, keep: (config: Config) => void): [GivenModel | undefined, (given: GivenModel | undefined) => void] {
  const [file, setFile] = useState<GivenModel>();
  const take = (value: GivenModel | undefined) => {
    const short = value && !('base64' in value) && JSON.stringify(value).length < largestInLink;
    setFile(short ? undefined : value);
    keep(short ? (value as Record<string, unknown>) : null);
  };
  return [file ?? config ?? undefined, take];
}

export const programTakes = ['engine', 'method'];
const parallel = ['cluster', 'tp', 'pp', 'dp', 'ep', 'cp'];

// What scopes ask for beside arguments: whether the model's shapes are free, whether there are many GPUs.
export const factsOf = (args: Values, kind: ModelKind): Values => ({
  shapes: kind === 'free' ? 'free' : 'fixed',
  gpus: parallel.some((name) => (args[name] ?? '1') !== '1') ? 'many' : 'one',
});

// Arguments that the model and the cards leave open.
export function argsFor(args: Values, kind: ModelKind): Values {
  const { model: _, ...rest } = args;
  if (kind === 'program') return Object.fromEntries(Object.entries(rest).filter(([name]) => name === 'gpu' || programTakes.includes(name)));
  if (kind === 'fixed' && rest.mode !== 'train') delete rest.mode;
  if (rest.cluster) delete rest.gpu;
  return rest;
}
