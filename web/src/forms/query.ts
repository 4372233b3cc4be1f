// Texts of a form to a query and back. The program reads every value as text, as on a command line; lists are split
// here, because a query of several cards is a list of them.
import type { Argument, GivenFile, Query } from '../api';
import type { Values } from '../link';

export const keyOf = (argument: Pick<Argument, 'name'>): string => argument.name.replace(/-/g, '_');

export type Given = Record<string, GivenFile | Record<string, unknown> | undefined>; // by value, in place of a text

export interface QueryOptions {
  lists?: string[]; // arguments that a question takes several of
  given?: Given;
  facts?: Values;
}

const isYes = (text: string): boolean => ['true', '1', 'yes', 'on'].includes(text);

export function queryOf(values: Values, declared: Argument[], { lists = ['gpu'], given = {}, facts = {} }: QueryOptions = {}): Query {
  const known = new Map(declared.map((argument) => [keyOf(argument), argument]));
  const kinds = new Map(declared.map((argument) => [keyOf(argument), argument.kind]));
  const query: Query = {};
  for (const [name, value] of Object.entries(values)) {
    const text = value.trim();
    const argument = known.get(name);
    // What means nothing now waits in the form until it does again.
    if (text === '' || (argument && !inScope(argument, values, declared, facts))) continue;
    if (kinds.get(name) === 'yes_no') {
      if (isYes(text)) query[name] = true;
    } else if (lists.includes(name) && text.includes(',')) query[name] = text.split(',').map((one) => one.trim()).filter(Boolean);
    else query[name] = text;
  }
  for (const [name, value] of Object.entries(given)) if (value) query[name] = value;
  return query;
}

// Whether an argument means something now: each of its scopes names another argument and the values it must have.
// Some scopes name what no argument says (whether a file fixes its shapes, whether there are many GPUs): the view's
// facts, as far as it knows them.
export function inScope(argument: Argument, values: Values, declared: Argument[], facts: Values = {}): boolean {
  return (argument.scopes ?? []).every((scope) => {
    const other = declared.find((one) => one.name === scope.argument);
    if (!other) return scope.values.includes(facts[scope.argument] ?? scope.values[0] ?? '') || scope.values.length === 0;
    const value = values[scope.argument.replace(/-/g, '_')] ?? other.default;
    return scope.values.length === 0 ? value !== '' : scope.values.includes(value);
  });
}

export function rangeText({ least, most, kind }: Argument): string {
  if (kind !== 'count' && kind !== 'number' && kind !== 'size') return '';
  const far = 1e6; // ends that only guard against nonsense say nothing to people
  const low = least != null && least > 0 ? least : undefined, high = most != null && most < far ? most : undefined;
  if (high !== undefined) return `${least ?? 0} to ${high}`;
  return low === undefined ? '' : `at least ${low}`;
}

export function labelOf(argument: Argument): string {
  const words: Record<string, string> = {
    gpu: 'GPU', gpus: 'GPUs', dtype: 'number format', 'kv-dtype': 'KV cache format', seq: 'sequence length', slo: 'objectives (SLO)',
    'slo-at': 'objectives hold at', tp: 'tensor parallel', pp: 'pipeline parallel', dp: 'data parallel', ep: 'expert parallel', cp: 'context parallel',
  };
  return words[argument.name] ?? argument.name.replace(/-/g, ' ');
}
