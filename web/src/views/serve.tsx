// Serving: latency against load, one load over time, and the best deployment for a load.
import './views.css';
import { useEffect, useState } from 'preact/hooks';
import { type Running, useJob, useQuestion } from '../answer';
import type { Query } from '../api';
import { ArgumentForm } from '../forms/form';
import { type Config, useGivenModel } from '../forms/given_model';
import { GpuPicker, GpusPicker } from '../forms/gpus';
import { ModelPicker } from '../forms/model';
import { keyOf, queryOf } from '../forms/query';
import { type Values, json, number, oneOf } from '../link';
import { Busy, Commands, ErrorNote, Inputs, Tabs } from '../parts';
import { useLinkState } from '../state';
import { LoadCharts } from './serve_load';
import { Plan } from './serve_plan';
import { OverTime, RunFacts, Steps } from './serve_run';
import { type ServingPlan, type Simulation, statistics } from './serving';

const tabs = [
  { id: 'load', title: 'Latency against load' },
  { id: 'run', title: 'One load over time' },
  { id: 'plan', title: 'Best deployment' },
] as const;
type Tab = (typeof tabs)[number]['id'];

const fields = {
  tab: oneOf<Tab>(['load', 'run', 'plan'], 'load'),
  at: oneOf(statistics, 'p90'),
  from: number(0), // second of the run that the list of steps begins at
  config: json<Config>(null), // a config.json given by value, small enough for a link
};

const opening: Values = {
  model: 'Llama-3.1-8B', gpu: 'H100-SXM', gpus: 'L40S,H100-SXM,B200', rate: '20', sweep: 'rate=1..32*2', slo: 'ttft=500ms,tpot=30ms', input: '1024', output: '256', num_prompts: '300',
};
const stepsListed = 200;

// What a tab does not ask: arguments of the other two that would exclude its own.
const leftOut: Record<Tab, string[]> = {
  load: ['rate', 'list_steps', 'list_from'],
  run: ['sweep'],
  plan: ['gpu', 'slo_at', 'num_prompts', 'engine'],
};

function argumentsOf(tab: Tab, args: Values, declared: Set<string>): Values {
  const own: Values = {};
  for (const [name, value] of Object.entries(args)) if (declared.has(name) && !leftOut[tab].includes(name)) own[name] = value;
  if (tab === 'load' && own.sweep?.startsWith('concurrency')) delete own.concurrency;
  if (tab === 'plan' && args.engines) own.engine = args.engines;
  return own;
}

const mainOf: Record<Tab, string[]> = {
  load: ['sweep', 'slo', 'input', 'output', 'engine', 'tp'],
  run: ['rate', 'slo', 'input', 'output', 'engine', 'tp'],
  plan: ['objective', 'slo', 'rate', 'input', 'output', 'budget'],
};

// Simulations follow the controls by themselves, as they take a fraction of a second; a search waits for its button,
// but for the first, which a link may have brought along.
function useFollowing<T>(job: Running<T>, query: Query | undefined, follows: boolean): void {
  const key = query && JSON.stringify(query);
  const [started, setStarted] = useState(false);
  useEffect(() => {
    if (!query || (started && !follows)) return;
    const wait = setTimeout(() => {
      setStarted(true);
      job.start(query);
    }, started ? 350 : 0);
    return () => clearTimeout(wait);
  }, [key]);
}

function Result({ tab, at, simulation, plan, slo }: { tab: Tab; at: (typeof statistics)[number]; simulation: Simulation | undefined; plan: ServingPlan | undefined; slo: string }) {
  if (tab === 'plan') return plan ? <Plan plan={plan} slo={slo} /> : null;
  const first = simulation?.loads[0];
  if (!simulation || !first) return null;
  if (tab === 'load') return <div class="columns"><LoadCharts run={simulation} at={at} slo={slo} /></div>;
  return (
    <>
      <RunFacts load={first} at={at} />
      {first.over_time && <div class="columns"><OverTime slices={first.over_time} fast={first.over_time_fast} slow={first.over_time_slow} file="tilecast-run" /></div>}
      {first.steps && <Steps run={simulation} steps={first.steps} />}
    </>
  );
}

export function Serve() {
  const [{ args, own }, change] = useLinkState('serve', fields, opening);
  // A tab is a question of its own: its answer and its progress start afresh.
  return <ServeTab key={own.tab === 'plan' ? 'plan' : 'simulate'} args={args} own={own} change={change} />;
}

type LinkState = ReturnType<typeof useLinkState<typeof fields>>;
function ServeTab({ args, own, change }: { args: Values; own: LinkState[0]['own']; change: LinkState[1] }) {
  const [model, setModel] = useGivenModel(own.config, (config) => change({ own: { config } }));
  const name = own.tab === 'plan' ? 'plan serve' : 'simulate';
  const question = useQuestion(name);
  const job = useJob<Simulation & ServingPlan>(name, own.tab === 'plan');
  const declared = new Set((question?.arguments ?? []).map(keyOf));
  const values = argumentsOf(own.tab, args, declared);
  const asked = question && queryOf(values, question.arguments, { lists: ['gpus', 'engine', 'dtype', 'layout'], given: { model } });
  const query = asked && (own.tab === 'run' ? { ...asked, list_steps: stepsListed, ...(own.from > 0 ? { list_from: own.from } : {}) }
    : own.tab === 'plan' ? { ...asked, slo_at: own.at, pictures: true } : asked);
  useFollowing(job, query, own.tab !== 'plan');
  const answered = job.query && own.tab === tabOf(job.query, name);
  const stale = JSON.stringify(job.query) !== JSON.stringify(query);
  const set = (change_: Values) => change({ args: own.tab === 'plan' && 'engine' in change_ ? { engines: change_.engine ?? '' } : change_ });
  return (
    <div class="split">
      <Inputs label="What is served" summary={summaryOf(own.tab, args)} onSubmit={() => query && job.start(query)}>
        <ModelPicker value={args.model ?? ''} given={model} onName={(picked) => change({ args: { model: picked } })} onGiven={setModel} />
        {own.tab === 'plan'
          ? <GpusPicker value={args.gpus ?? ''} label="GPUs to choose from" onChange={(gpus) => change({ args: { gpus } })} />
          : <GpuPicker value={args.gpu ?? ''} onChange={(gpu) => change({ args: { gpu } })} />}
        <div class="control">
          <label for="serve-at">Statistic of the requests’ times</label>
          <select id="serve-at" value={own.at} onChange={(event) => change({ own: { at: event.currentTarget.value as typeof own.at } })}>
            {statistics.map((one) => <option value={one}>{one}</option>)}
          </select>
        </div>
        {own.tab === 'run' && (
          <div class="control">
            <label for="serve-from">Steps from second</label>
            <input id="serve-from" type="text" inputMode="decimal" class="numeric" value={own.from} onChange={(event) => change({ own: { from: Number(event.currentTarget.value) || 0 } })} />
          </div>
        )}
        <ArgumentForm declared={question?.arguments} values={values} onChange={set} error={job.error} main={mainOf[own.tab]}
          skip={['model', 'gpu', 'gpus', 'slo_at', 'pictures', 'list_steps', 'list_from', 'trace', 'prices', ...leftOut[own.tab].filter((one) => one !== 'engine' && one !== 'num_prompts')]} />
        <button type="submit" class="go" disabled={!query || job.busy}>{own.tab === 'plan' ? 'Look for the best' : 'Simulate'}</button>
      </Inputs>
      <div class="results">
        <div class="tabrow">
          <Tabs label="What to look at" tabs={[...tabs]} picked={own.tab} onPick={(tab) => change({ own: { tab } })} />
          <Busy busy={job.busy} progress={job.progress} onCancel={job.cancel} />
        </div>
        <ErrorNote error={job.error} />
        <div class={stale && job.answer ? 'results stale' : 'results'} aria-busy={job.busy}>
          {answered && <Result tab={own.tab} at={own.at} simulation={job.answer} plan={job.answer} slo={args.slo ?? ''} />}
          {answered && own.tab !== 'plan' && job.answer && job.answer.notes.length > 0 && <p class="note">{job.answer.notes.join('; ')}</p>}
        </div>
        <Commands question={question} query={query} />
      </div>
    </div>
  );
}

const summaryOf = (tab: Tab, args: Values): string =>
  [args.model, tab === 'plan' ? args.gpus : args.gpu, tab === 'load' ? args.sweep : `${args.rate ?? 'all'} requests/s`].filter(Boolean).join(', ');

const tabOf = (query: Query, name: string): Tab => (name === 'plan serve' ? 'plan' : 'sweep' in query ? 'load' : 'run');
