// Texts of a form to a query and back. The program reads every value as text, as on a command line; lists are split
// here, because a query of several cards is a list of them.
import type { Argument, GivenFile, Query } from '../api';
import type { Values } from '../link';

export const keyOf = (argument: Pick<Argument, 'name'>): string => argument.name.replace(/-/g, '_');

export type Given = Record<string, GivenFile | Record<string, unknown> | undefined>; // by value, in place of a text

export interface QueryOptions {
  lists?: string[]; // arguments that a question takes several of
  given?: Given;
}

const isYes = (text: string): boolean => ['true', '1', 'yes', 'on'].includes(text);

export function queryOf(values: Values, declared: Argument[], { lists = ['gpu'], given = {} }: QueryOptions = {}): Query {
  const known = new Map(declared.map((argument) => [keyOf(argument), argument]));
  const kinds = new Map(declared.map((argument) => [keyOf(argument), argument.kind]));
  const query: Query = {};
  for (const [name, value] of Object.entries(values)) {
    const text = value.trim();
    const argument = known.get(name);
    // What means nothing now waits in the form until it does again.
    if (text === '' || (argument && !inScope(argument, values, declared))) continue;
    if (kinds.get(name) === 'yes_no') {
      if (isYes(text)) query[name] = true;
    } else if (lists.includes(name) && text.includes(',')) query[name] = text.split(',').map((one) => one.trim()).filter(Boolean);
    else query[name] = text;
  }
  for (const [name, value] of Object.entries(given)) if (value) query[name] = value;
  return query;
}

// Whether an argument means something now: each of its scopes names another argument and the values it must have.
export function inScope(argument: Argument, values: Values, declared: Argument[]): boolean {
  return (argument.scopes ?? []).every((scope) => {
    const other = declared.find((one) => one.name === scope.argument);
    if (!other) return true; // a matter of the model or the card, which only the program knows
    const value = values[scope.argument.replace(/-/g, '_')] ?? other.default;
    return scope.values.length === 0 ? value !== '' : scope.values.includes(value);
  });
}

export function rangeText({ least, most, kind }: Argument): string {
  if (kind !== 'count' && kind !== 'number' && kind !== 'size') return '';
  if (least != null && most != null) return `${least} to ${most}`;
  if (least != null) return `at least ${least}`;
  return most == null ? '' : `at most ${most}`;
}

export function labelOf(argument: Argument): string {
  const words: Record<string, string> = {
    gpu: 'GPU', gpus: 'GPUs', dtype: 'number format', 'kv-dtype': 'KV cache format', seq: 'sequence length', slo: 'objectives (SLO)',
    'slo-at': 'objectives hold at', tp: 'tensor parallel', pp: 'pipeline parallel', dp: 'data parallel', ep: 'expert parallel', cp: 'context parallel',
  };
  return words[argument.name] ?? argument.name.replace(/-/g, ' ');
}
