// Answers as state of components.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type Progress, type Query, type Question, ask, askAsJob, get, isAbort } from './api';

export interface Asked<T> {
  answer?: T; // stays while a newer one is asked for
  asked?: Query; // what the answer is to
  error?: ApiError;
  busy: boolean;
}

export const asError = (problem: unknown): ApiError =>
  problem instanceof ApiError ? problem : new ApiError(problem instanceof Error ? problem.message : String(problem));

const settleMs = 120; // of typing before a question goes out

// Asks again whenever the query changes; undefined asks nothing. A newer question drops the older one's answer.
export function useAnswer<T>(question: string, query: Query | undefined): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ busy: query !== undefined });
  const key = query === undefined ? '' : JSON.stringify(query);
  const first = useRef(true);
  useEffect(() => {
    if (query === undefined) return setAsked({ busy: false });
    const stop = new AbortController();
    const wait = setTimeout(() => {
      setAsked((before) => ({ ...before, busy: true }));
      ask<T>(question, query, stop.signal).then(
        (answer) => setAsked({ answer, asked: query, busy: false }),
        (problem) => isAbort(problem) || setAsked((before) => ({ ...before, error: asError(problem), busy: false })));
    }, first.current ? 0 : settleMs);
    first.current = false;
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [question, key]);
  return asked;
}

export function useGet<T>(path: string | undefined): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ busy: path !== undefined });
  useEffect(() => {
    if (path === undefined) return setAsked({ busy: false });
    let here = true;
    setAsked({ busy: true });
    get<T>(path).then((answer) => here && setAsked({ answer, busy: false }),
      (problem) => here && setAsked({ error: asError(problem), busy: false }));
    return () => {
      here = false;
    };
  }, [path]);
  return asked;
}

export function useQuestion(name: string): Question | undefined {
  const { answer } = useGet<Question[]>('/v1/questions');
  return answer?.find((question) => question.name === name);
}

export interface Running<T> extends Asked<T> {
  progress?: Progress;
  query?: Query; // that the answer is to
  start(query: Query): void;
  cancel(): void;
}

// A question asked by a button, as a job.
export function useJob<T>(question: string, files = false): Running<T> {
  const [asked, setAsked] = useState<Asked<T> & { progress?: Progress; query?: Query }>({ busy: false });
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const cancel = () => {
    stop.current?.abort();
    setAsked((before) => ({ ...before, busy: false, progress: undefined }));
  };
  const start = (query: Query) => {
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    setAsked((before) => ({ ...before, error: undefined, progress: undefined, busy: true }));
    askAsJob<T>(question, query, (progress) => mine === stop.current && setAsked((before) => ({ ...before, progress })), mine.signal, files).then(
      (answer) => mine === stop.current && setAsked({ answer, query, busy: false }),
      (problem) => !isAbort(problem) && mine === stop.current && setAsked((before) => ({ ...before, error: asError(problem), busy: false, progress: undefined })));
  };
  return { ...asked, start, cancel };
}
