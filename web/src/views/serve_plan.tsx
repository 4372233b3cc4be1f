// The best deployment: what was found, its Pareto front and curve, and the files that start it.
import { Lines } from '../charts/lines';
import { Scatter } from '../charts/scatter';
import { download } from '../export';
import { DataTable, Figure } from '../figure';
import { dollars, interval, joules, milliseconds, percent, threeDigits } from '../format';
import { CopyButton, Fact, Panel, SavedFiles, Seen, saveFile } from '../parts';
import { type Column, csvOf } from '../table';
import { OverTime } from './serve_run';
import { type Deployment, type LoadPoint, type ParetoPoint, type ServingPlan, deploymentText, formatText, objectivesOf, plain, times } from './serving';

const of = (one: Deployment, name: 'ttft' | 'tpot' | 'e2el') => one.simulated?.[`${name}_ms`];
const endsOf = (one: Deployment, name: 'ttft' | 'tpot' | 'e2el') => one.simulated?.[`${name}_interval_ms`];

function timeColumns(statistic: string): Column<Deployment>[] {
  return times.flatMap(({ id, short }) => [
    {
      name: `${short} ${statistic} ms`, value: (row: Deployment) => of(row, id), number: true,
      text: (row: Deployment) => {
        const ends = endsOf(row, id), value = of(row, id);
        return value === undefined ? '–' : `${milliseconds(value)}${ends ? ` (${milliseconds(ends[0])} – ${milliseconds(ends[1])})` : ''}`;
      },
    },
  ]);
}

const deploymentColumns = (statistic: string): Column<Deployment>[] => [
  { name: 'deployment', value: (row) => `${row.gpus} × ${row.gpu}` },
  { name: '$/h', value: (row) => row.usd_per_hour, text: (row) => (row.usd_per_hour === null ? '–' : dollars(row.usd_per_hour)), number: true },
  { name: '$/M output tokens', value: (row) => row.usd_per_million_output_tokens, text: (row) => (row.usd_per_million_output_tokens === null ? '–' : dollars(row.usd_per_million_output_tokens)), number: true },
  { name: 'engine', value: (row) => row.engine },
  { name: 'format', value: formatText },
  { name: 'layout', value: deploymentText },
  ...timeColumns(statistic),
  { name: 'chance', value: (row) => row.simulated?.chance, text: (row) => (row.simulated?.chance == null ? '–' : percent(row.simulated.chance)), number: true },
  { name: 'tokens/s/GPU', value: (row) => row.simulated?.output_tokens_per_second_per_gpu, text: (row) => (row.simulated ? threeDigits(row.simulated.output_tokens_per_second_per_gpu) : '–'), number: true },
  { name: 'tokens/s/user', value: (row) => row.simulated?.output_tokens_per_second_per_user, text: (row) => (row.simulated ? threeDigits(row.simulated.output_tokens_per_second_per_user) : '–'), number: true },
  { name: 'seen', value: (row) => row.seen },
];

function BestFacts({ plan, best }: { plan: ServingPlan; best: Deployment }) {
  const joulesOf = best.simulated?.joules_per_output_token;
  return (
    <dl class="facts">
      <Fact name="best deployment" more={`${best.engine}, ${formatText(best)}, ${deploymentText(best)}`}>{best.gpus} × {best.gpu} <Seen seen={best.seen} /></Fact>
      {best.usd_per_hour !== null && <Fact name="cost" more={best.usd_per_million_output_tokens === null ? undefined : `${dollars(best.usd_per_million_output_tokens)} a million output tokens`}>{dollars(best.usd_per_hour)} /h</Fact>}
      {times.map(({ id, short }) => {
        const value = of(best, id), ends = endsOf(best, id);
        return value !== undefined && <Fact name={`${short} ${plan.statistic}`} more={ends && interval([ends[0], ends[1]], milliseconds)}>{milliseconds(value)}</Fact>;
      })}
      {best.simulated?.chance != null && <Fact name="chance of meeting the SLO" more={`${percent(best.simulated.margin)} to spare`}>{percent(best.simulated.chance)}</Fact>}
      {plan.breaks && plan.breaks.rate > 0 && <Fact name="breaks first" more={`at ${threeDigits(plan.breaks.rate)} requests/s; saturates at ${threeDigits(plan.breaks.saturation)}: ${plan.breaks.limit}`}>{plan.breaks.objective}</Fact>}
      {joulesOf != null && <Fact name="energy of a token">{joules(joulesOf)}</Fact>}
    </dl>
  );
}

const paretoColumns: Column<ParetoPoint>[] = [
  { name: 'set-up', value: (row) => row.what },
  { name: 'GPU', value: (row) => row.gpu },
  { name: 'layout', value: (row) => row.layout },
  { name: 'tokens/s/user', value: (row) => row.output_tokens_per_second_per_user, text: (row) => threeDigits(row.output_tokens_per_second_per_user), number: true },
  { name: 'low', value: (row) => row.interval_per_user[0], text: (row) => threeDigits(row.interval_per_user[0]), number: true },
  { name: 'high', value: (row) => row.interval_per_user[1], text: (row) => threeDigits(row.interval_per_user[1]), number: true },
  { name: 'tokens/s/GPU', value: (row) => row.output_tokens_per_second_per_gpu, text: (row) => threeDigits(row.output_tokens_per_second_per_gpu), number: true },
  { name: 'in flight', value: (row) => row.concurrency, text: (row) => threeDigits(row.concurrency), number: true },
  { name: 'front', value: (row) => (row.front ? 'yes' : 'no') },
];

// Hundreds of set-ups would hide each other: those on the front, and of the others as many as there is room for. The
// table and the exports have all.
const mostDots = 140;
function drawn(points: ParetoPoint[]): ParetoPoint[] {
  const others = points.filter((point) => !point.front).sort((a, b) => a.layout.localeCompare(b.layout) || a.output_tokens_per_second_per_user - b.output_tokens_per_second_per_user);
  const every = Math.ceil(others.length / Math.max(1, mostDots - (points.length - others.length)));
  return [...others.filter((_, i) => i % every === 0), ...points.filter((point) => point.front)];
}

// Eight colours, those of the front first; layouts beyond share one.
function groupsOf(points: ParetoPoint[]): (layout: string) => string {
  const layouts = [...new Set([...points.filter((point) => point.front), ...points].map((point) => point.layout))];
  const named = new Set(layouts.length > 8 ? layouts.slice(0, 7) : layouts);
  return (layout) => (named.has(layout) ? layout : 'other layouts');
}

function Pareto({ points }: { points: ParetoPoint[] }) {
  const groupOf = groupsOf(points);
  return (
    <Figure title="Throughput of a GPU against speed for a user" file="tilecast-pareto" columns={paretoColumns} rows={points}
      note="One copy of each set-up at several loads, by its steady state, coloured by layout; the line joins what nothing beats in both. Horizontal lines: 80 % intervals of the speed at that load.">
      <Scatter label="Output tokens a second and GPU against output tokens a second and user" xTitle="output tokens/s for a user" yTitle="output tokens/s of a GPU" xText={plain} yText={plain}
        dots={drawn(points).map((point) => ({
          x: point.output_tokens_per_second_per_user, y: point.output_tokens_per_second_per_gpu, xInterval: [point.interval_per_user[0], point.interval_per_user[1]] as const,
          name: point.what, group: groupOf(point.layout), front: point.front, faint: !point.front, more: [`${threeDigits(point.concurrency)} requests in flight`],
        }))} />
    </Figure>
  );
}

function Curve({ loads, statistic, slo }: { loads: LoadPoint[]; statistic: string; slo: string }) {
  const limits = objectivesOf(slo);
  return (
    <>
      {times.filter(({ id }) => id !== 'e2el' || limits.e2el !== undefined).map(({ id, title, short }) => {
        const columns: Column<LoadPoint>[] = [
          { name: 'requests/s', value: (row) => row.rate, text: (row) => threeDigits(row.rate), number: true },
          { name: `${short} ${statistic} ms`, value: (row) => row[`${id}_ms`], text: (row) => milliseconds(row[`${id}_ms`]), number: true },
          { name: 'low ms', value: (row) => row[`${id}_interval_ms`][0], text: (row) => milliseconds(row[`${id}_interval_ms`][0]), number: true },
          { name: 'high ms', value: (row) => row[`${id}_interval_ms`][1], text: (row) => milliseconds(row[`${id}_interval_ms`][1]), number: true },
        ];
        const limit = limits[id];
        return (
          <Figure title={`${title} of the best, against load`} file={`tilecast-plan-${id}`} columns={columns} rows={loads}>
            <Lines label={`${title} (${statistic}) against load`} xText={plain} yText={milliseconds} xTitle="requests a second" yTitle={`${short}, ${statistic}`} height={230}
              logY={loads.some((load) => load[`${id}_ms`] > 20 * loads[0]![`${id}_ms`])}
              lines={[{ name: short, colour: times.findIndex((one) => one.id === id), points: loads.map((load) => ({ x: load.rate, y: load[`${id}_ms`], interval: [load[`${id}_interval_ms`][0], load[`${id}_interval_ms`][1]] as const })) }]}
              limits={limit === undefined ? [] : [{ y: limit, name: `objective ${milliseconds(limit)}` }]} />
          </Figure>
        );
      })}
    </>
  );
}

const ordinals = ['second', 'third', 'fourth'];
function Files({ plan }: { plan: ServingPlan }) {
  if (!plan.launch) return null;
  return (
    <Panel title={`Start it${plan.release ? ` (${plan.release})` : ''}`}>
      <pre tabIndex={0}><code>{plan.launch.join('\n')}</code></pre>
      <CopyButton text={plan.launch.join('\n')} label="Copy the commands" />
      {[...new Set((plan.files ?? []).filter((file) => file.name.includes('/')).map((file) => file.name.split('/')[0]!))].map((folder, i) => (
        <>
          <h3>{i === 0 ? 'Files of the best' : `Files of the ${ordinals[i - 1] ?? 'next'}`}</h3>
          <ul class="files" aria-label={`Files that start ${folder}`}>
            {plan.files!.filter((file) => file.name.startsWith(`${folder}/`)).map((file) => <li><button type="button" aria-label={`download ${file.name}`} onClick={() => saveFile(file)}>{file.name.slice(folder.length + 1)}</button></li>)}
          </ul>
        </>
      ))}
      <SavedFiles title="The search as a page and pictures" files={(plan.files ?? []).filter((file) => !file.name.includes('/'))} />
    </Panel>
  );
}

export function Plan({ plan, slo }: { plan: ServingPlan; slo: string }) {
  const columns = deploymentColumns(plan.statistic);
  const shown = plan.best ?? plan.attainable ?? plan.nearest;
  return (
    <>
      {plan.problem && (
        <div class="error" role="alert">
          <strong>Nothing meets the objectives: {plan.problem}.</strong>
          {plan.nearest?.simulated?.in_the_way && <p>Nearest: {plan.nearest.gpus} × {plan.nearest.gpu}, {deploymentText(plan.nearest)}; {plan.nearest.simulated.in_the_way}</p>}
          {plan.attainable?.simulated && <p>They can be met up to {threeDigits(plan.attainable.simulated.rate)} requests/s, on {plan.attainable.gpus} × {plan.attainable.gpu}.</p>}
        </div>
      )}
      {shown && <BestFacts plan={plan} best={shown} />}
      {plan.pictures && plan.pictures.pareto.length > 0 && <Pareto points={plan.pictures.pareto} />}
      {plan.pictures && plan.pictures.loads.length > 0 && <Curve loads={plan.pictures.loads} statistic={plan.statistic} slo={slo} />}
      <Panel title="Deployments simulated" aside={<button type="button" aria-label="Deployments simulated as CSV" onClick={() => download('tilecast-deployments.csv', 'text/csv', csvOf(columns, plan.finalists))}>CSV</button>}>
        <DataTable columns={columns} rows={plan.finalists} caption="Deployments simulated, best first" />
        <p class="note">{plan.tried} deployments tried; {plan.too_large} setups do not fit, {plan.too_slow} miss with any number of GPUs allowed. {plan.prices.join('; ')}{plan.notes.length ? `. ${plan.notes.join('; ')}` : ''}</p>
      </Panel>
      <Files plan={plan} />
      {plan.pictures && plan.pictures.over_time.length > 0 && <OverTime slices={plan.pictures.over_time} file="tilecast-plan" />}
    </>
  );
}
