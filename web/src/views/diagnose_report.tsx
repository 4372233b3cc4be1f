// The report on a trace: where the time goes, what falls short, when the GPU waited, what to try.
import { IntervalBars } from '../charts/bars';
import { Stacks } from '../charts/stack';
import { Figure } from '../figure';
import { microseconds, percent, times } from '../format';
import { Fact, Panel } from '../parts';
import type { Column } from '../table';
import type { DiagnosedDevice, DiagnosedFamily, DiagnosedKernel, Diagnosis } from './diagnosis';

function Facts({ report }: { report: Diagnosis }) {
  return (
    <dl class="facts">
      <Fact name="GPU time" more={`${report.format}${report.recorded_on ? `, recorded on ${report.recorded_on}` : ''}`}>{microseconds(report.total_us)}</Fact>
      <Fact name="forecast for">{report.gpu}</Fact>
      <Fact name="recognised">{percent(report.recognised_share)}</Fact>
      <Fact name="with a forecast">{percent(report.forecast_share)}</Fact>
      <Fact name="above the ceiling" more={percent(report.above_ceiling_us / report.total_us)}>{microseconds(report.above_ceiling_us)}</Fact>
    </dl>
  );
}

function Advice({ report }: { report: Diagnosis }) {
  if (report.advice.length === 0) return <Panel title="What to try"><p>Nothing that the rules know stands out.</p></Panel>;
  return (
    <Panel title="What to try">
      <ol class="advice">
        {report.advice.map((one) => (
          <li><strong>{one.title}</strong>, at most {microseconds(one.at_stake_us)} at stake<p>{one.reason}.</p><p class="action">{one.action}</p></li>
        ))}
      </ol>
      <p class="note">The times overlap and do not add up.</p>
    </Panel>
  );
}

const familyColumns: Column<DiagnosedFamily>[] = [
  { name: 'family', value: (row) => row.family },
  { name: 'total us', value: (row) => row.total_us, text: (row) => microseconds(row.total_us), number: true },
  { name: 'launches', value: (row) => row.launches, number: true },
  { name: 'with a forecast us', value: (row) => row.forecast_us, text: (row) => microseconds(row.forecast_us), number: true },
  { name: 'above ceiling us', value: (row) => row.above_ceiling_us, text: (row) => microseconds(row.above_ceiling_us), number: true },
];

function Families({ families }: { families: DiagnosedFamily[] }) {
  return (
    <Figure title="Time by family" file="tilecast-families" columns={familyColumns} rows={families}>
      <Stacks label="GPU time by family" title="GPU time" text={microseconds} parts={['within the ceiling', 'above the ceiling', 'without a forecast']}
        stacks={families.slice(0, 16).map((row) => ({
          name: row.family, parts: [Math.max(0, row.forecast_us - row.above_ceiling_us), row.above_ceiling_us, Math.max(0, row.total_us - row.forecast_us)], note: `${row.launches} launches`,
        }))} />
    </Figure>
  );
}

export const kernelColumns: Column<DiagnosedKernel>[] = [
  { name: 'kernel', value: (row) => row.kernel },
  { name: 'family', value: (row) => row.family },
  { name: 'shape', value: (row) => (row.forecast ? `${row.forecast.dtype} ${Object.entries(row.forecast.dims).map(([name, value]) => `${name}=${value}`).join(';')}` : row.operator) },
  { name: 'calls', value: (row) => row.calls, number: true },
  { name: 'total us', value: (row) => row.total_us, text: (row) => microseconds(row.total_us), number: true },
  { name: 'a call us', value: (row) => row.per_call_us, text: (row) => microseconds(row.per_call_us), number: true },
  { name: 'forecast us', value: (row) => row.forecast?.forecast_us, text: (row) => (row.forecast ? `${microseconds(row.forecast.forecast_us)} (${microseconds(row.forecast.interval_us[0])} – ${microseconds(row.forecast.interval_us[1])})` : '–'), number: true },
  { name: 'ceiling us', value: (row) => row.forecast?.ceiling_us, text: (row) => (row.forecast ? microseconds(row.forecast.ceiling_us) : '–'), number: true },
  { name: 'lost us', value: (row) => row.above_ceiling_us, text: (row) => (row.underperforms ? microseconds(row.above_ceiling_us ?? 0) : '–'), number: true },
  { name: 'limited by', value: (row) => row.forecast?.limited_by },
];

const mostBars = 18, longestName = 34;
const shortened = (text: string): string => (text.length > longestName ? `${text.slice(0, longestName - 1)}…` : text);
const shapeText = (row: DiagnosedKernel): string => shortened(`${row.family} ${Object.values(row.forecast?.dims ?? {}).join('×') || row.kernel}`);

// The longest that have a forecast: what was recorded over what is forecast.
function Kernels({ kernels }: { kernels: DiagnosedKernel[] }) {
  const priced = kernels.filter((row) => row.forecast && row.forecast.forecast_us > 0).slice(0, mostBars);
  return (
    <Figure title="Kernels beside their forecasts" file="tilecast-kernels" columns={kernelColumns} rows={kernels.slice(0, 300)} open
      note="Recorded time over forecast, the kernels that take longest first; whiskers by the forecast’s 80 % interval, the thin line is the ceiling that well-tuned kernels reach. Orange: over 15 % above it.">
      {priced.length > 0
        ? (
          <IntervalBars label="Recorded time over forecast, by kernel" title="recorded over forecast" text={times}
            bars={priced.map((row, i) => {
              const { forecast_us, interval_us, ceiling_us, limited_by } = row.forecast!;
              return {
                name: `${i + 1}. ${shapeText(row)}`, value: row.per_call_us / forecast_us, interval: [row.per_call_us / interval_us[1], row.per_call_us / interval_us[0]] as const, bound: ceiling_us / forecast_us,
                colour: row.underperforms ? 1 : 0, note: microseconds(row.total_us),
                more: [row.kernel, `${row.calls} calls of ${microseconds(row.per_call_us)}, forecast ${microseconds(forecast_us)}`, `ceiling ${microseconds(ceiling_us)}, limited by ${limited_by}`],
              };
            })} />
        )
        : <p>No kernel has a shape that a forecast could be made for.</p>}
    </Figure>
  );
}

const deviceColumns: Column<DiagnosedDevice>[] = [
  { name: 'device', value: (row) => `GPU ${row.device}` },
  { name: 'window us', value: (row) => row.window_us, text: (row) => microseconds(row.window_us), number: true },
  { name: 'busy us', value: (row) => row.busy_us, text: (row) => microseconds(row.busy_us), number: true },
  { name: 'idle, host late us', value: (row) => row.idle_host_late_us, text: (row) => microseconds(row.idle_host_late_us), number: true },
  { name: 'idle, launched us', value: (row) => row.idle_launched_us, text: (row) => microseconds(row.idle_launched_us), number: true },
  { name: 'idle, unexplained us', value: (row) => row.idle_unexplained_us, text: (row) => microseconds(row.idle_unexplained_us), number: true },
  { name: 'exposed collectives us', value: (row) => row.exposed_collectives_us, text: (row) => microseconds(row.exposed_collectives_us), number: true },
];

function Devices({ devices }: { devices: DiagnosedDevice[] }) {
  if (devices.length === 0) return null;
  return (
    <Figure title="When the GPU waited" file="tilecast-devices" columns={deviceColumns} rows={devices}>
      <Stacks label="Busy and idle time of each GPU" title="time of the recording" text={microseconds} parts={['busy', 'waits for the host', 'launched, not begun', 'unexplained']}
        stacks={devices.map((row) => ({ name: `GPU ${row.device}`, parts: [row.busy_us, row.idle_host_late_us, row.idle_launched_us, row.idle_unexplained_us], note: `${row.launches} launches, ${row.gaps} gaps` }))} />
    </Figure>
  );
}

export function Report({ report }: { report: Diagnosis }) {
  return (
    <>
      <Facts report={report} />
      <Advice report={report} />
      <div class="columns">
        <Families families={report.families} />
        <Devices devices={report.devices} />
      </div>
      <Kernels kernels={report.kernels} />
      {report.notes.length > 0 && <p class="note">{report.notes.join('; ')}</p>}
    </>
  );
}
