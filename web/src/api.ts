// The program's HTTP interface: questions asked as JSON, long ones as jobs with progress, errors as values that name
// the argument they are about.

export interface Interval extends ReadonlyArray<number> {
  readonly 0: number;
  readonly 1: number;
}

export class ApiError extends Error {
  constructor(
    message: string,
    readonly field = '', // the argument, with underscores; '' where none is to blame
    readonly remedy = '',
    readonly status = 0, // of HTTP; 0: no answer came
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

// A file given by value.
export interface GivenFile {
  name: string;
  base64: string;
}
export type Query = Record<string, unknown>;

export interface Scope {
  argument: string;
  values: string[];
}
export interface Argument {
  name: string;
  kind: 'yes_no' | 'count' | 'number' | 'size' | 'text' | 'choice' | 'list' | 'counts';
  help: string;
  unit: string;
  example: string;
  default: string;
  choices: string[];
  aliases: string[];
  required: boolean;
  // Later additions, absent where they say nothing.
  least?: number | null;
  most?: number | null;
  positional?: boolean;
  group?: string;
  scopes?: Scope[];
}
export interface Family {
  name: string;
  summary: string;
  example: string;
  dims: Argument[];
}
export interface Question {
  name: string;
  summary: string;
  examples?: string[];
  arguments: Argument[];
  families?: Family[];
}

export interface Progress {
  done: number;
  of: number;
  what: string;
}
export interface Job<T> {
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  progress?: Progress;
  answer?: T;
  error?: { message: string; field?: string; remedy?: string };
}

// A page served elsewhere than on loopback needs the token that the server was started with; it stays in this tab.
const tokenKey = 'tilecast-token';
let token = typeof sessionStorage === 'undefined' ? '' : (sessionStorage.getItem(tokenKey) ?? '');
export function setToken(given: string): void {
  token = given;
  sessionStorage.setItem(tokenKey, given);
}

function headers(body: boolean): Record<string, string> {
  const all: Record<string, string> = {};
  if (body) all['Content-Type'] = 'application/json';
  if (token !== '') all['Authorization'] = `Bearer ${token}`;
  return all;
}

export const isAbort = (problem: unknown): boolean => problem instanceof DOMException && problem.name === 'AbortError';

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: headers(body !== undefined),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (problem) {
    if (isAbort(problem)) throw problem;
    throw new ApiError('the program does not answer', '', 'is `tilecast http` still running?');
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export function errorFrom(given: { message?: string; field?: string; remedy?: string } | undefined, status = 0): ApiError {
  return new ApiError(given?.message ?? `answered ${status}`, (given?.field ?? '').replace(/-/g, '_'), given?.remedy ?? '', status);
}
async function errorOf(response: Response): Promise<ApiError> {
  try {
    return errorFrom(((await response.json()) as { error?: { message?: string } }).error, response.status);
  } catch {
    return errorFrom(undefined, response.status);
  }
}

export const pathOf = (question: string): string => `/v1/${question.replace(/ /g, '/')}`;

export async function ask<T>(question: string, query: Query, signal?: AbortSignal): Promise<T> {
  return (await (await send('POST', pathOf(question), query, signal)).json()) as T;
}

const known = new Map<string, Promise<unknown>>();
// What does not change while the program runs: asked once.
export function get<T>(path: string): Promise<T> {
  let answer = known.get(path);
  if (!answer) {
    answer = send('GET', path).then((response) => response.json());
    answer.catch(() => known.delete(path));
    known.set(path, answer);
  }
  return answer as Promise<T>;
}

// Lines of a server-sent event stream as events. EventSource cannot carry the token, so the stream is read by hand.
export async function* eventsOf(chunks: AsyncIterable<string>): AsyncGenerator<{ event: string; data: string }> {
  let rest = '';
  let event = 'message';
  let data: string[] = [];
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length) yield { event, data: data.join('\n') };
        event = 'message';
        data = [];
      } else if (line.startsWith('event:')) event = line.slice(6).trim();
      else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    }
  }
}

async function* textOf(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

// Asks a question that may take long. Aborting the signal cancels the job on the server as well.
// What the command line would write, in an answer that was asked with `files`.
export interface AnswerFile {
  name: string;
  media_type: string;
  text?: string;
  base64?: string;
}

// `files`: the answer also holds what the command line would write to files.
export async function askAsJob<T>(
  question: string, query: Query, onProgress: (progress: Progress) => void, signal: AbortSignal, files = false,
): Promise<T> {
  const { job } = (await (await send('POST', `${pathOf(question)}?job=1`, files ? { ...query, files: true } : query, signal)).json()) as { job: string };
  const place = `/v1/jobs/${encodeURIComponent(job)}`;
  const cancel = () => void send('DELETE', place).catch(() => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const stream = await send('GET', `${place}/events`, undefined, signal);
    for await (const { event, data } of eventsOf(textOf(stream))) {
      const state = JSON.parse(data) as Job<T> & Progress;
      if (event === 'progress') onProgress(state.progress ?? state);
      else if (event === 'done' || event === 'failed' || event === 'cancelled') return await outcome(state, place, signal);
    }
    return await outcome((await (await send('GET', place, undefined, signal)).json()) as Job<T>, place, signal);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

async function outcome<T>(job: Job<T>, place: string, signal: AbortSignal): Promise<T> {
  if (job.state === 'failed') throw errorFrom(job.error, 400);
  if (job.state === 'cancelled') throw new DOMException('cancelled', 'AbortError');
  if (job.answer !== undefined) return job.answer;
  const again = (await (await send('GET', place, undefined, signal)).json()) as Job<T>;
  if (again.error) throw errorFrom(again.error, 400);
  if (again.answer === undefined) throw new ApiError('the stream of progress ended early', '', 'ask again');
  return again.answer;
}

export async function fileByValue(file: File): Promise<GivenFile> {
  const data = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  const slice = 0x8000; // arguments of one call
  for (let at = 0; at < data.length; at += slice) binary += String.fromCharCode(...data.subarray(at, at + slice));
  return { name: file.name, base64: btoa(binary) };
}
