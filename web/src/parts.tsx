// Small pieces that every view uses.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type AnswerFile, type ApiError, type Progress, type Query, type Question, setToken } from './api';
import { asCurl, asPython, asShell } from './commands';
import { download, downloadBase64 } from './export';
import { seenMark, seenMeaning, seenText } from './format';

export function ErrorNote({ error }: { error: ApiError | undefined }) {
  if (!error) return null;
  if (error.status === 401) return <TokenForm />;
  return (
    <div class="error" role="alert">
      <strong>
        {error.field ? `${error.field.replace(/_/g, ' ')}: ` : ''}
        {error.message}
      </strong>
      {error.remedy && <p>{error.remedy}</p>}
    </div>
  );
}

function TokenForm() {
  const [given, setGiven] = useState('');
  const use = (event: Event) => {
    event.preventDefault();
    setToken(given);
    location.reload();
  };
  return (
    <form class="error" onSubmit={use}>
      <label>
        This server wants the token it was started with{' '}
        <input type="password" value={given} onInput={(event) => setGiven(event.currentTarget.value)} autocomplete="off" />
      </label>
      <button type="submit">Use it</button>
    </form>
  );
}

export function Busy({ busy, progress, onCancel }: { busy: boolean; progress?: Progress; onCancel?: () => void }) {
  const known = progress && progress.of > 0;
  return (
    <div class={busy ? 'busy on' : 'busy'} role="status">
      {busy && (
        <>
          {known ? (
            <progress value={progress.done} max={progress.of} aria-label="progress" />
          ) : (
            <span class="spinner" aria-hidden="true" />
          )}
          <span>
            {progress?.what || 'computing'}
            {known ? ` ${progress.done} of ${progress.of}` : ''}
          </span>
          {onCancel && (
            <button type="button" onClick={onCancel}>
              Cancel
            </button>
          )}
        </>
      )}
    </div>
  );
}

export function Seen({ seen }: { seen: boolean | string }) {
  const text = seenText(seen);
  return (
    <span class={`seen seen-${text.replace(/ /g, '-')}`} title={seenMeaning[text] ?? ''}>
      {seenMark(seen)}
    </span>
  );
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      {done ? 'Copied' : label}
    </button>
  );
}

export function Tabs<T extends string>({
  tabs,
  picked,
  onPick,
  label,
}: {
  tabs: { id: T; title: string }[];
  picked: T;
  onPick: (id: T) => void;
  label: string;
}) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {tabs.map((tab) => (
        <button type="button" aria-pressed={tab.id === picked} onClick={() => onPick(tab.id)}>
          {tab.title}
        </button>
      ))}
    </div>
  );
}

// The view's question for the shell, for curl and in Python, and the link that shows this very view.
export function Commands({
  question,
  query,
  flags,
}: {
  question: Question | undefined;
  query: Query | undefined;
  flags?: string[];
}) {
  const [kind, setKind] = useState<'shell' | 'curl' | 'python'>('shell');
  if (!question || !query) return null;
  const texts = {
    shell: asShell(question, query, flags),
    curl: asCurl(question.name, query, location.origin),
    python: asPython(question.name, query),
  };
  return (
    <section class="commands" aria-label="The same as a command">
      <div class="figurehead">
        <h2>The same as a command</h2>
        <Tabs
          label="Kind of command"
          picked={kind}
          onPick={setKind}
          tabs={[
            { id: 'shell', title: 'CLI' },
            { id: 'curl', title: 'curl' },
            { id: 'python', title: 'Python' },
          ]}
        />
      </div>
      <pre tabIndex={0}>
        <code>{texts[kind]}</code>
      </pre>
      <CopyButton text={texts[kind]} label="Copy the command" />
      <CopyButton text={location.href} label="Copy the link to this view" />
    </section>
  );
}

// A view's controls: beside the results, and on a phone folded above them under one line that says what is asked.
export function Inputs({
  label,
  summary,
  children,
  onSubmit,
}: {
  label: string;
  summary: string;
  children: ComponentChildren;
  onSubmit?: () => void;
}) {
  const [open] = useState(() => matchMedia('(min-width: 821px)').matches);
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const wide = matchMedia('(min-width: 821px)');
    const follow = () => wide.matches && box.current && (box.current.open = true);
    wide.addEventListener('change', follow);
    return () => wide.removeEventListener('change', follow);
  }, []);
  return (
    <details class="inputs" ref={box} open={open}>
      <summary>{summary}</summary>
      <form
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit?.();
        }}
      >
        {children}
      </form>
    </details>
  );
}

export function saveFile(file: AnswerFile): void {
  const name = file.name.replace(/\//g, '-');
  if (file.base64 !== undefined) downloadBase64(name, file.media_type, file.base64);
  else download(name, file.media_type, file.text ?? '');
}

// Files of an answer, a button each.
export function SavedFiles({ title, files, heading: Heading = 'h3' }: { title: string; files: AnswerFile[]; heading?: 'h2' | 'h3' }) {
  if (files.length === 0) return null;
  return (
    <>
      <Heading>{title}</Heading>
      <ul class="files" aria-label={title}>
        {files.map((file) => <li><button type="button" aria-label={`download ${file.name}`} onClick={() => saveFile(file)}>{file.name}</button></li>)}
      </ul>
    </>
  );
}

export function Panel({ title, children, aside }: { title: string; children: ComponentChildren; aside?: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      {aside ? <div class="figurehead"><h2>{title}</h2><div class="exports">{aside}</div></div> : <h2>{title}</h2>}
      {children}
    </section>
  );
}

// A figure that stands for itself: "step 9.52 ms".
export function Fact({ name, children, more }: { name: string; children: ComponentChildren; more?: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>
        {children}
        {more && <small>{more}</small>}
      </dd>
    </div>
  );
}
