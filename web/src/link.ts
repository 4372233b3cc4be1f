// A view's state in its link, so that a link shows another person the same view:
//
//   #/forecast?model=Llama-3.1-8B&gpu=H100-SXM,B200&mode=decode&batch=32&_card=B200
//
// Arguments of the question stand under their own names (underscores), as texts; what belongs to the view alone
// (which tab, which sorting) under its name with a leading underscore, which no declared argument has. A view declares
// its own fields; values equal to a field's fallback are left out.

export interface Field<T> {
  fallback: T;
  write(value: T): string;
  read(text: string): T | undefined; // undefined: the text is no such value, the fallback holds
}
export type Fields = Record<string, Field<any>>; // eslint-disable-line @typescript-eslint/no-explicit-any
export type Own<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

export type Values = Record<string, string>; // of declared arguments, as typed
export interface State<F extends Fields> {
  args: Values;
  own: Own<F>;
}

export const text = (fallback = ''): Field<string> => ({ fallback, write: (value) => value, read: (given) => given });
export const number = (fallback: number): Field<number> => ({
  fallback,
  write: String,
  read: (given) => (given.trim() !== '' && Number.isFinite(Number(given)) ? Number(given) : undefined),
});
export const flag = (fallback = false): Field<boolean> => ({
  fallback,
  write: (value) => (value ? '1' : '0'),
  read: (given) => (given === '1' ? true : given === '0' ? false : undefined),
});
export const oneOf = <T extends string>(choices: readonly T[], fallback: T): Field<T> => ({
  fallback,
  write: (value) => value,
  read: (given) => choices.find((choice) => choice === given),
});
export const list = (fallback: string[] = []): Field<string[]> => ({
  fallback,
  write: (value) => value.join(','),
  read: (given) => (given === '' ? [] : given.split(',')),
});
// Anything that JSON can say: edited descriptions.
export const json = <T>(fallback: T): Field<T> => ({
  fallback,
  write: (value) => JSON.stringify(value),
  read: (given) => {
    try {
      return JSON.parse(given) as T;
    } catch {
      return undefined;
    }
  },
});

export function writeState<F extends Fields>(fields: F, state: State<F>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state.args)) if (value !== '') query.set(name, value);
  for (const [name, field] of Object.entries(fields)) {
    const written = field.write(state.own[name]);
    if (written !== field.write(field.fallback)) query.set(`_${name}`, written);
  }
  // Commas and slashes are what links here are full of, and need no escape in a fragment.
  return query.toString().replace(/%2C/g, ',').replace(/%2F/g, '/').replace(/%3A/g, ':');
}

export function readState<F extends Fields>(fields: F, query: string, fallback: Values = {}): State<F> {
  const given = new URLSearchParams(query);
  const args: Values = query === '' ? { ...fallback } : {};
  for (const [name, value] of given) if (!name.startsWith('_')) args[name] = value;
  // A link that sets only what belongs to the view keeps the question that the view opens with.
  if (Object.keys(args).length === 0) Object.assign(args, fallback);
  const own = {} as Record<string, unknown>;
  for (const [name, field] of Object.entries(fields)) {
    const written = given.get(`_${name}`);
    own[name] = (written === null ? undefined : field.read(written)) ?? field.fallback;
  }
  return { args, own: own as Own<F> };
}

export interface Place {
  view: string;
  query: string;
}
export function placeOf(hash: string): Place {
  const match = /^#?\/?([a-z-]*)(?:\?(.*))?$/s.exec(hash);
  return { view: match?.[1] ?? '', query: match?.[2] ?? '' };
}
export const hashOf = (place: Place): string => `#/${place.view}${place.query === '' ? '' : `?${place.query}`}`;
