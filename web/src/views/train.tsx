// Training: layouts ranked, what the whole run takes, and one layout in detail.
import { useEffect, useState } from 'preact/hooks';
import { useAnswer, useJob, useQuestion } from '../answer';
import { IntervalBars } from '../charts/bars';
import { Lines } from '../charts/lines';
import { Figure } from '../figure';
import { bytes, count, days, dollars, interval, milliseconds, percent, threeDigits } from '../format';
import { ArgumentForm } from '../forms/form';
import { type Config, useGivenModel } from '../forms/given_model';
import { ModelPicker } from '../forms/model';
import { queryOf } from '../forms/query';
import { type Values, json, number, oneOf } from '../link';
import { Busy, Commands, ErrorNote, Fact, Inputs, Panel, Tabs } from '../parts';
import { useLinkState } from '../state';
import type { Column } from '../table';
import { LayoutDetail } from './train_layout';
import { stepQuery } from './train_query';
import { type RankedLayout, type ScalingPoint, type SpreadStep, type TrainingPlan, detailText, layoutText } from './training';

const fields = { rank: number(1), part: number(1), curve: oneOf(['strong', 'weak'], 'strong'), config: json<Config>(null) };
const opening: Values = { model: 'Llama-3.1-70B', gpus: '32xH100-SXM', global_batch: '128', seq: '4096', tokens: '1T' };
const main = ['gpus', 'global_batch', 'seq', 'tokens', 'framework', 'train_precision', 'deadline', 'budget'];

const rankedColumns: Column<RankedLayout>[] = [
  { name: 'layout', value: (row) => layoutText(row.layout) },
  { name: 'set-up', value: detailText },
  { name: 'step ms', value: (row) => row.step_ms, text: (row) => milliseconds(row.step_ms), number: true },
  { name: 'low ms', value: (row) => row.interval_ms[0], text: (row) => milliseconds(row.interval_ms[0]), number: true },
  { name: 'high ms', value: (row) => row.interval_ms[1], text: (row) => milliseconds(row.interval_ms[1]), number: true },
  { name: 'tokens/s', value: (row) => row.tokens_per_second, text: (row) => count(row.tokens_per_second), number: true },
  { name: 'MFU', value: (row) => row.mfu, text: (row) => percent(row.mfu), number: true },
  { name: 'bubble ms', value: (row) => row.bubble_ms, text: (row) => milliseconds(row.bubble_ms), number: true },
  { name: 'exposed ms', value: (row) => row.exposed_ms, text: (row) => milliseconds(row.exposed_ms), number: true },
  { name: 'memory bytes', value: (row) => row.memory_bytes, text: (row) => bytes(row.memory_bytes), number: true },
  { name: 'days', value: (row) => row.days, text: (row) => (row.days === null ? 'never' : days(row.days)), number: true },
];

function Ranked({ plan, rank, onPick }: { plan: TrainingPlan; rank: number; onPick: (rank: number) => void }) {
  return (
    <Figure title="Layouts, fastest first" file="tilecast-layouts" columns={rankedColumns} rows={plan.ranked} note="Pick one to see its memory and its pipeline.">
      <IntervalBars label="Time of a step by layout" title="time of a step" text={milliseconds} picked={rank - 1} onPick={(index) => onPick(index + 1)}
        bars={plan.ranked.map((one) => ({
          name: layoutText(one.layout), value: one.step_ms, interval: [one.interval_ms[0], one.interval_ms[1]] as const, note: detailText(one), colour: 0,
          more: [`${percent(one.mfu)} of the peak, ${bytes(one.memory_bytes)} a GPU`, `bubble ${milliseconds(one.bubble_ms)}, exposed ${milliseconds(one.exposed_ms)}`],
        }))} />
    </Figure>
  );
}

function WholeRun({ plan }: { plan: TrainingPlan }) {
  const share = (end: number) => end / (plan.days ?? 1);
  const low = plan.interval_days[0], high = plan.interval_days[1];
  const gpuHours = (part: number) => `${count(plan.gpu_hours * part)}`;
  if (plan.days === null) return <p class="error" role="alert">The run never ends: failures come faster than it advances.</p>;
  return (
    <dl class="facts">
      <Fact name={`${count(plan.tokens)} tokens take`} more={interval([low, high], days)}>{days(plan.days)}</Fact>
      {plan.usd !== null && <Fact name="cost" more={interval([plan.usd * share(low), plan.usd * share(high)], dollars)}>{dollars(plan.usd)}</Fact>}
      <Fact name="GPU hours" more={`${gpuHours(share(low))} – ${gpuHours(share(high))}`}>{gpuHours(1)}</Fact>
      {plan.megawatt_hours !== null && <Fact name="energy of the GPUs" more={interval([plan.megawatt_hours * share(low), plan.megawatt_hours * share(high)], (mwh) => `${threeDigits(mwh)} MWh`)}>{threeDigits(plan.megawatt_hours)} MWh</Fact>}
      <Fact name="goodput" more={`${threeDigits(plan.failures)} failures`}>{percent(plan.goodput)}</Fact>
      <Fact name="checkpoint" more={plan.checkpoint_interval_minutes > 0 ? `every ${threeDigits(plan.checkpoint_interval_minutes)} minutes, ${threeDigits(plan.checkpoint_seconds)} s to write` : undefined}>{bytes(plan.checkpoint_bytes)}</Fact>
      <Fact name="layouts tried" more={`${plan.fit} fit`}>{plan.tried}</Fact>
    </dl>
  );
}

const scalingColumns: Column<ScalingPoint>[] = [
  { name: 'GPUs', value: (row) => row.gpus, number: true },
  { name: 'global batch', value: (row) => row.global_batch, number: true },
  { name: 'layout', value: (row) => row.layout },
  { name: 'tokens/s', value: (row) => row.tokens_per_second, text: (row) => count(row.tokens_per_second), number: true },
  { name: 'MFU', value: (row) => row.mfu, text: (row) => percent(row.mfu), number: true },
  { name: 'days', value: (row) => row.days, text: (row) => (row.layout ? days(row.days) : 'does not fit'), number: true },
  { name: 'low days', value: (row) => row.interval_days?.[0], text: (row) => (row.interval_days ? days(row.interval_days[0]) : '–'), number: true },
  { name: 'high days', value: (row) => row.interval_days?.[1], text: (row) => (row.interval_days ? days(row.interval_days[1]) : '–'), number: true },
];

function Scaling({ plan, curve, onCurve }: { plan: TrainingPlan; curve: 'strong' | 'weak'; onCurve: (curve: 'strong' | 'weak') => void }) {
  const rows = (curve === 'strong' ? plan.strong_scaling : plan.weak_scaling) ?? [];
  const points = rows.filter((row) => row.layout);
  const ideal = points[0] ? points.map((row) => ({ x: row.gpus, y: (points[0]!.days * points[0]!.gpus) / row.gpus })) : [];
  return (
    <Figure title="Days against GPUs" file={`tilecast-scaling-${curve}`} columns={scalingColumns} rows={rows}
      note={<Tabs label="Which scaling" picked={curve} onPick={onCurve} tabs={[{ id: 'strong', title: 'Same global batch' }, { id: 'weak', title: 'Batch grows with the GPUs' }]} />}>
      <Lines label="Days of the whole training against GPUs" logX logY base={2} xText={String} yText={days} xTitle="GPUs" yTitle="days" height={240}
        lines={[{ name: 'forecast', colour: 0, points: points.map((row) => ({ x: row.gpus, y: row.days, ...(row.interval_days ? { interval: [row.interval_days[0], row.interval_days[1]] as const } : {}), more: [row.layout ?? '', `${percent(row.mfu)} of the peak`] })) },
          { name: 'if GPUs were all that counts', colour: 4, dashed: true, points: ideal }]} />
    </Figure>
  );
}

export function Train() {
  const [{ args, own }, change] = useLinkState('train', fields, opening);
  const [model, setModel] = useGivenModel(own.config, (config) => change({ own: { config } }));
  const question = useQuestion('plan train');
  const job = useJob<TrainingPlan>('plan train'), curve = useJob<TrainingPlan>('plan train');
  const query = question && queryOf(args, question.arguments, { lists: [], given: { model } });
  const key = query && JSON.stringify(query);
  // Other numbers of GPUs take several times as long as those asked for: their curve comes after the rest.
  const answered = job.answer && job.query;
  useEffect(() => {
    if (answered) curve.start({ ...answered, scaling: true });
  }, [answered && JSON.stringify(answered)]);
  // The first answer comes by itself, so that a link shows what it was made from; later ones wait for the button.
  const [started, setStarted] = useState(false);
  useEffect(() => {
    if (!query || started) return;
    setStarted(true);
    job.start(query);
  }, [key]);
  const plan = job.answer;
  const picked = plan?.ranked[Math.min(own.rank, plan.ranked.length) - 1];
  const detail = useAnswer<SpreadStep[]>('predict', picked && job.query ? stepQuery(job.query, plan.gpus, picked) : undefined);
  const step = detail.answer?.[0];
  const stale = plan !== undefined && JSON.stringify(job.query) !== key;
  return (
    <div class="split">
      <Inputs label="What is trained" summary={[args.model, args.gpus, `${args.global_batch ?? '?'} × ${args.seq ?? '?'} tokens`].filter(Boolean).join(', ')} onSubmit={() => query && job.start(query)}>
        <ModelPicker value={args.model ?? ''} given={model} onName={(name) => change({ args: { model: name } })} onGiven={setModel} />
        <ArgumentForm declared={question?.arguments} values={args} onChange={(given) => change({ args: given })} error={job.error} main={main} skip={['model', 'prices', 'scaling']} />
        <button type="submit" class="go" disabled={!query || job.busy}>Plan the training</button>
      </Inputs>
      <div class="results">
        <Busy busy={job.busy} progress={job.progress} onCancel={job.cancel} />
        <ErrorNote error={job.error} />
        {!plan && job.busy && <p class="note">Every way to spread the step over the GPUs is forecast.</p>}
        {plan && (
          <div class={stale ? 'results stale' : 'results'}>
            <WholeRun plan={plan} />
            <Ranked plan={plan} rank={own.rank} onPick={(rank) => change({ own: { rank, part: 1 } })} />
            {picked && (
              <section class="results" aria-label={`Layout ${own.rank}: ${layoutText(picked.layout)}`}>
                <h2>{own.rank}. {layoutText(picked.layout)} <small>{detailText(picked)}</small></h2>
                <ErrorNote error={detail.error} />
                {step && !step.error && <LayoutDetail step={step} part={own.part - 1} onPart={(part) => change({ own: { part: part + 1 } })} />}
              </section>
            )}
            {curve.busy && <div class="figure"><h3>Days against GPUs</h3><Busy busy progress={curve.progress} onCancel={curve.cancel} /></div>}
            {!curve.busy && curve.answer?.strong_scaling && <Scaling plan={curve.answer} curve={own.curve as 'strong' | 'weak'} onCurve={(picked_) => change({ own: { curve: picked_ } })} />}
            {!curve.busy && <ErrorNote error={curve.error} />}
            {plan.advice.length > 0 && (
              <Panel title="What would shorten it">
                <ul>{plan.advice.map((one) => <li>{one.what}: {percent(one.gain)} less time a token</li>)}</ul>
              </Panel>
            )}
          </div>
        )}
        <Commands question={question} query={query && { ...query, scaling: true }} />
      </div>
    </div>
  );
}
