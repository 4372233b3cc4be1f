// Diagnosing: a profiler's trace dropped here, the report on it.
import { useId, useState } from 'preact/hooks';
import { useJob, useQuestion } from '../answer';
import { type GivenFile, type Query, fileByValue } from '../api';
import { GpuPicker } from '../forms/gpus';
import type { Values } from '../link';
import { Busy, Commands, ErrorNote, SavedFiles } from '../parts';
import { useLinkState } from '../state';
import { Report } from './diagnose_report';
import type { Diagnosis } from './diagnosis';

const fields = {};
const opening: Values = {};

function Drop({ file, onFile }: { file: GivenFile | undefined; onFile: (file: File) => void }) {
  const id = useId();
  const [over, setOver] = useState(false);
  return (
    <label for={id} class={over ? 'bigdrop over' : 'bigdrop'} onDragOver={(event) => {
      event.preventDefault();
      setOver(true);
    }} onDragLeave={() => setOver(false)} onDrop={(event) => {
      event.preventDefault();
      setOver(false);
      const dropped = event.dataTransfer?.files[0];
      if (dropped) onFile(dropped);
    }}>
      <strong>{file ? file.name : 'Drop a trace here'}</strong>
      <p>PyTorch profiler (.json, .json.gz), Nsight Systems (SQLite, CSV), Nsight Compute (CSV), or a table with columns name and duration_us</p>
      <input id={id} type="file" accept=".json,.gz,.csv,.sqlite" onChange={(event) => {
        const picked = event.currentTarget.files?.[0];
        if (picked) onFile(picked);
      }} />
    </label>
  );
}

export function Diagnose() {
  const [{ args }, change] = useLinkState('diagnose', fields, opening);
  const question = useQuestion('diagnose');
  const job = useJob<Diagnosis>('diagnose', true);
  const [file, setFile] = useState<GivenFile>();
  const queryOf = (trace: GivenFile | undefined, gpu: string): Query | undefined => trace && { trace, ...(gpu ? { gpu } : {}) };
  const gpu = args.gpu ?? '';
  const take = async (given: File) => {
    const trace = await fileByValue(given);
    setFile(trace);
    job.start(queryOf(trace, gpu)!);
  };
  const onGpu = (name: string) => {
    change({ args: { gpu: name } });
    const query = queryOf(file, name);
    if (query) job.start(query);
  };
  // Without a file the command still shows how it is asked.
  const shown: Query = queryOf(file, gpu) ?? { trace: { name: 'trace.json.gz', base64: '' }, ...(gpu ? { gpu } : {}) };
  return (
    <div class="split">
      <form aria-label="What is diagnosed" onSubmit={(event) => event.preventDefault()}>
        <Drop file={file} onFile={(given) => void take(given)} />
        <GpuPicker value={gpu} label="GPU of the forecasts (default: the one the file names)" onChange={onGpu} />
        {gpu && <button type="button" onClick={() => onGpu('')}>The one the file names</button>}
        <p class="note">The file goes to this program alone, which keeps nothing of it. A link to this view holds the card; the trace has to be dropped again, so save the report to pass it on.</p>
        <SavedFiles heading="h2" title="Save the report" files={job.answer?.files ?? []} />
      </form>
      <div class="results">
        <Busy busy={job.busy} progress={job.progress} onCancel={job.cancel} />
        <ErrorNote error={job.error} />
        {job.answer ? <Report report={job.answer} /> : !job.busy && !job.error && <p>The report says where the time goes, which kernels fall short of what well-tuned ones reach, when the GPU waited and for whom, and what people do about it.</p>}
        <Commands question={question} query={shown} />
      </div>
    </div>
  );
}
