// The link as state of components: read when it changes, rewritten in place as controls move.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Fields, type State, type Values, hashOf, placeOf, readState, writeState } from './link';

export function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return hash;
}

// What each view was last asked in this tab, so that a look at another view loses nothing.
const last = new Map<string, string>();
export const lastQuery = (view: string): string => last.get(view) ?? '';

export type Change<F extends Fields> = (change: { args?: Values; own?: Partial<State<F>['own']> }) => void;

// State of the view `name`. `change` merges: an argument set to '' is taken out. The link is rewritten without a new
// entry in the history, so that "back" leads to the view before and not through every key pressed.
export function useLinkState<F extends Fields>(name: string, fields: F, fallback: Values): [State<F>, Change<F>] {
  const read = () => {
    const place = placeOf(location.hash);
    if (place.view === name) last.set(name, place.query);
    return readState(fields, place.view === name ? place.query : '', fallback);
  };
  const [state, setState] = useState(read);
  const latest = useRef(state);
  useEffect(() => {
    const follow = () => {
      const place = placeOf(location.hash);
      if (place.view !== name || place.query === writeState(fields, latest.current)) return;
      last.set(name, place.query);
      latest.current = readState(fields, place.query, fallback);
      setState(latest.current);
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const change = useCallback<Change<F>>((given) => {
    const args = { ...latest.current.args, ...given.args };
    for (const [key, value] of Object.entries(args)) if (value === '') delete args[key];
    latest.current = { args, own: { ...latest.current.own, ...given.own } };
    setState(latest.current);
    const query = writeState(fields, latest.current);
    last.set(name, query);
    history.replaceState(null, '', hashOf({ view: name, query }));
  }, []);
  return useMemo(() => [state, change], [state]);
}
