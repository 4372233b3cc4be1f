// "The same as a command": a query as one would type it for the shell, for curl and in Python.
import { type GivenFile, type Query, type Question, pathOf } from './api';

export const isFile = (value: unknown): value is GivenFile =>
  typeof value === 'object' && value !== null && 'name' in value && 'base64' in value;

// A description given by value becomes a file of one's own on a command line.
const isDescription = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isFile(value);

export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

const fileOf = (name: string, value: Record<string, unknown>): string =>
  `${typeof value.name === 'string' ? value.name : name}.json`;

function shellText(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => shellText(name, one)).join(',');
  if (isFile(value)) return value.name;
  if (isDescription(value)) return fileOf(name, value);
  return String(value);
}

// Descriptions given by value, as files of one's own beside the command.
function filesOf(query: Query): string[] {
  return Object.entries(query).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).filter(isDescription)
    .map((one) => `echo ${shellQuoted(JSON.stringify(one))} > ${shellQuoted(fileOf(name, one))}\n`));
}

// `flags`: what only the command line has.
export function asShell(question: Pick<Question, 'name' | 'arguments'>, query: Query, flags: string[] = []): string {
  const positional = new Set(question.arguments.filter((one) => one.positional).map((one) => one.name.replace(/-/g, '_')));
  if (question.name === 'kernel') positional.add('family');
  const words = ['tilecast', ...question.name.split(' ')];
  const named: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (positional.has(name)) words.push(shellQuoted(shellText(name, value)));
    else if (value === true) named.push(`--${name.replace(/_/g, '-')}`);
    else if (value !== false) named.push(`--${name.replace(/_/g, '-')} ${shellQuoted(shellText(name, value))}`);
  }
  return filesOf(query).join('') + [...words, ...named, ...flags].join(' ');
}

export function asCurl(question: string, query: Query, origin: string): string {
  const body = JSON.stringify(query, (_, value: unknown) => (isFile(value) ? { name: value.name, base64: `@base64:${value.name}@` } : value));
  // The file's own bytes are put in by the shell.
  const quoted = `'${body.replace(/'/g, `'\\''`)}'`.replace(/@base64:(.*?)@/g, (_, file: string) => `'"$(base64 -w0 ${shellQuoted(file)})"'`);
  const large = body.includes('@base64:');
  return large
    ? `printf '%s' ${quoted} | curl -s ${origin}${pathOf(question)} -H 'Content-Type: application/json' --data-binary @-`
    : `curl -s ${origin}${pathOf(question)} -H 'Content-Type: application/json' -d ${quoted}`;
}

function pythonText(value: unknown): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null) return 'None';
  if (Array.isArray(value)) return `[${value.map(pythonText).join(', ')}]`;
  if (isFile(value)) return JSON.stringify(value.name);
  if (isDescription(value))
    return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonText(one)}`).join(', ')}}`;
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return value;
  return JSON.stringify(value);
}

// Words that Python keeps for itself cannot name an argument.
const reserved = new Set(['from', 'in', 'is', 'lambda']);

export function asPython(question: string, query: Query): string {
  const first: Record<string, string> = { kernel: 'family' };
  const leading = first[question] ?? ('model' in query ? 'model' : 'trace' in query ? 'trace' : '');
  const parts = Object.entries(query).map(([name, value]) => 
    name === leading ? pythonText(value) : reserved.has(name) ? `**{"${name}": ${pythonText(value)}}` : `${name}=${pythonText(value)}`);
  const call = question === 'tune fused-moe' ? 'tune_moe' : question.replace(/[ -]/g, '_');
  return `import tilecast\nanswer = tilecast.${call}(${parts.join(', ')})\nprint(answer)`;
}
