// The page in a real browser, beside the command line: every view shows the figures that `--json` prints, links bring
// their view back, files are taken, nothing is logged as an error, and axe finds nothing to object to.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { request } from 'node:http';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axeSource, cli, command, exported, figures, formats, openPage, phone, root, saved, settled, shown, startBrowser, startServer } from './harness.mjs';

let server, address, browser, axe, format;
before(async () => {
  server = startServer();
  [address, browser, axe, format] = await Promise.all([server.address, startBrowser(), axeSource(), formats()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

// Opens a link, hands its page on, and sees to it that nothing went wrong in it.
async function visiting(link, look, options) {
  const { page, problems, close } = await openPage(browser, address, link, options);
  try {
    await look(page);
    assert.deepEqual(problems, []);
  } finally {
    await close();
  }
}

// Some line of the figures has all of these cells; numbers to the last digit.
function expectLine(lines, cells) {
  const wanted = cells.map(String);
  const found = lines.some((line) => wanted.every((cell) => line.includes(cell)));
  assert.ok(found, `no line has ${wanted.join(', ')}:\n${lines.slice(0, 12).map((line) => line.join(' | ')).join('\n')}`);
}
// axe has nothing to object to: by all its rules, or by these.
async function accessible(page, rules) {
  await page.evaluate(`${axe};0`); // a script element of ours is what the policy of the page forbids
  const violations = await page.evaluate(async (values) => (await globalThis.axe.run(values ? { runOnly: { type: 'rule', values } } : {})).violations, rules);
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.help} (${one.nodes[0].html.slice(0, 160)})`), []);
}
async function expectShown(page, text) {
  const body = await page.locator('main').innerText();
  assert.ok(body.includes(text), `the page does not show "${text}"`);
}

const forecastLink = '#/forecast?model=Llama-3.1-8B&gpu=H100-SXM,B200&mode=decode&batch=32&context=2048';
const kernelLink = '#/kernel?family=gemm&m=4096&n=4096&k=4096&gpu=H100-SXM';
const compareLink = '#/compare?model=Llama-3.1-8B&gpu=L40S,H100-SXM&mode=decode&batch=16&context=1024';
const loadLink = '#/serve?model=Llama-3.1-8B&gpu=H100-SXM&sweep=rate=2,8&slo=ttft=500ms,tpot=30ms&input=512&output=64&num_prompts=60';
const runLink = '#/serve?model=Llama-3.1-8B&gpu=L40S&rate=4&input=512&output=64&num_prompts=60&_tab=run';
const planLink = '#/serve?model=Llama-3.2-1B&gpus=L40S&rate=4&slo=ttft=1s,tpot=50ms&input=256&output=32&engines=vllm&layout=1&_tab=plan';
const trainLink = '#/train?model=Llama-3.2-1B&gpus=8xH100-SXM&global_batch=16&seq=1024&tokens=1B';
const traceFile = join(root, 'data', 'measurements', 'traces', 'h200_compiled.json.gz');
const upload = (page) => page.locator('.bigdrop input[type="file"]').setInputFiles(traceFile);

describe('figures equal the command line’s', () => {
  it('Forecast', () => visiting(forecastLink, async (page) => {
    await settled(page);
    const rows = await cli(['predict', 'Llama-3.1-8B', '--gpu', 'H100-SXM,B200', '--mode', 'decode', '--batch', '32', '--context', '2048']);
    const lines = await figures(page, 'Time of a step');
    for (const row of rows) {
      expectLine(lines, [row.gpu, row.step_ms, ...row.interval_ms, row.tokens_per_second]);
      await expectShown(page, format.milliseconds(row.step_ms));
    }
    assert.deepEqual(await shown(await command(page)), rows);
    await accessible(page);
  }));

  it('Compare', () => visiting(compareLink, async (page) => {
    await settled(page);
    const rows = await cli(['predict', 'Llama-3.1-8B', '--gpu', 'L40S,H100-SXM', '--mode', 'decode', '--batch', '16', '--context', '1024']);
    const lines = await figures(page, await firstTitle(page));
    for (const row of rows) expectLine(lines, [row.gpu, row.step_ms]);
    await accessible(page);
  }));

  it('Kernel', () => visiting(kernelLink, async (page) => {
    await settled(page);
    const rows = await cli(['kernel', 'gemm', '--m', '4096', '--n', '4096', '--k', '4096', '--gpu', 'H100-SXM']);
    await expectShown(page, format.microseconds(rows[0].latency_us));
    await expectShown(page, format.microseconds(rows[0].bound_us));
    assert.deepEqual(await shown(await command(page)), rows);
    await accessible(page);
  }));

  it('Serve: latency against load', () => visiting(loadLink, async (page) => {
    await settled(page);
    const run = await shown(await command(page));
    const asked = await cli(['simulate', 'Llama-3.1-8B', '--gpu', 'H100-SXM', '--sweep', 'rate=2,8', '--slo', 'ttft=500ms,tpot=30ms', '--input', '512', '--output', '64', '--num-prompts', '60']);
    assert.deepEqual(run, asked);
    const first = await figures(page, 'Time to first token against load'), output = await figures(page, 'Time per output token against load');
    for (const { load, metrics, fast, slow } of run.loads) {
      expectLine(first, [load, metrics.p90_ttft_ms, fast.p90_ttft_ms, slow.p90_ttft_ms]);
      expectLine(output, [load, metrics.p90_tpot_ms, fast.p90_tpot_ms, slow.p90_tpot_ms]);
    }
    assert.equal(await page.locator('.limit').count(), 2);
    await accessible(page);
  }));

  it('Serve: one load over time', () => visiting(runLink, async (page) => {
    await settled(page);
    const { loads: [load] } = await shown(await command(page));
    await expectShown(page, format.milliseconds(load.metrics.p90_ttft_ms));
    const slices = await figures(page, 'Requests over time'), steps = await figures(page, 'Steps of the engine');
    for (const slice of load.over_time) expectLine(slices, [slice.time_s, slice.running, slice.waiting, slice.cache]);
    assert.equal(steps.length - 1, load.steps.length);
    for (const step of load.steps.slice(0, 20)) expectLine(steps, [step.start_s, step.step_ms, ...step.interval_ms, step.prompt_tokens, step.decodes]);
    assert.equal(await page.locator('section[aria-label="Requests over time"] .band').count(), 2);
    await accessible(page);
  }));

  it('Serve: the best deployment, its front and its files', () => visiting(planLink, async (page) => {
    await settled(page);
    const plan = await shown(await command(page));
    await expectShown(page, `${plan.best.gpus} × ${plan.best.gpu}`);
    await expectShown(page, format.milliseconds(plan.best.simulated.ttft_ms));
    const front = await figures(page, 'Throughput of a GPU against speed for a user');
    for (const point of plan.pictures.pareto)
      expectLine(front, [point.layout, point.output_tokens_per_second_per_user, ...point.interval_per_user, point.output_tokens_per_second_per_gpu]);
    const curve = await figures(page, 'Time to first token of the best, against load');
    for (const point of plan.pictures.loads) expectLine(curve, [point.rate, point.ttft_ms, ...point.ttft_interval_ms]);
    const launch = (await saved(page, 'download plan-1/launch.sh')).toString('utf8');
    assert.match(launch, /^#!.*sh\n/);
    assert.match((await saved(page, 'download pareto.svg')).toString('utf8'), /^<svg/);
    const deployments = (await saved(page, 'Deployments simulated as CSV')).toString('utf8');
    assert.equal(deployments.trim().split('\n').length, plan.finalists.length + 1);
    for (const line of plan.launch) if (line.includes('vllm serve')) assert.ok(launch.includes('vllm serve'), launch);
    await accessible(page);
  }));

  it('Train', () => visiting(trainLink, async (page) => {
    await settled(page, '.chart .span');
    const plan = await shown(await command(page));
    await expectShown(page, format.days(plan.days));
    await expectShown(page, format.dollars(plan.usd));
    const ranked = await figures(page, 'Layouts, fastest first');
    for (const one of plan.ranked) expectLine(ranked, [one.step_ms, ...one.interval_ms, one.memory_bytes, one.days]);
    const scaling = await figures(page, 'Days against GPUs');
    for (const point of plan.strong_scaling) if (point.layout) expectLine(scaling, [point.gpus, point.tokens_per_second, point.days, ...point.interval_days]);
    // The picked layout's own forecast is the one that the plan ranked.
    await expectShown(page, format.milliseconds(plan.ranked[0].step_ms));
    const memory = await figures(page, 'Memory by rank');
    assert.ok(memory.slice(1).some((line) => line.includes(String(plan.ranked[0].memory_bytes))), 'the fullest rank is the plan’s');
    // A task is as uncertain as the step.
    const [head, ...tasks] = await figures(page, 'The pipeline over a step');
    const cell = (line, name) => Number(line[head.indexOf(name)]), { step_ms, interval_ms } = plan.ranked[0];
    for (const task of tasks.slice(0, 20)) {
      const took = cell(task, 'end ms') - cell(task, 'begin ms');
      if (took > 0) assert.ok(Math.abs(cell(task, 'high ms') / took / (interval_ms[1] / step_ms) - 1) < 1e-3, task.join());
    }
    assert.ok((await page.locator('section[aria-label="The pipeline over a step"] .whisker line').count()) > 0);
    await accessible(page);
  }));

  it('Diagnose: a trace that is dropped', () => visiting('#/diagnose', async (page) => {
    await page.waitForSelector('.bigdrop');
    await upload(page);
    await settled(page);
    const report = await shown(await command(page), join(traceFile, '..'));
    await expectShown(page, format.microseconds(report.total_us));
    const families = await figures(page, 'Time by family'), kernels = await figures(page, 'Kernels beside their forecasts');
    for (const one of report.families) expectLine(families, [one.family, one.total_us, one.above_ceiling_us]);
    for (const one of report.kernels.slice(0, 30)) expectLine(kernels, [one.kernel, one.total_us, one.per_call_us, ...(one.forecast ? [one.forecast.forecast_us] : [])]);
    const page_ = (await saved(page, 'download report.html')).toString('utf8');
    assert.ok(page_.includes('h200_compiled.json.gz') && page_.includes('<svg'), 'the report is a page of its own');
    await accessible(page);
  }));

  it('Accuracy: the tables of the documents', () => visiting('#/accuracy?_protocol=seen', async (page) => {
    await settled(page);
    const { readEvidence } = await import('../evidence.mjs');
    const evidence = await readEvidence(join(root, 'docs'));
    const [, family, , card, , rows] = evidence.kernels.seen[0];
    const behind = evidence.kernels.seen.filter((row) => row[1] === family && row[3] === card);
    const total = behind.reduce((sum, row) => sum + row[5], 0);
    assert.ok(rows > 0);
    expectLine(await figures(page, 'Mean error by card and family'), [card, family, total]);
    for (const row of evidence.summary.rows) await expectShown(page, row[2]);
    await accessible(page);
    for (const part of ['Whole models', 'Blind test', 'Intervals']) {
      await page.getByRole('button', { name: part, exact: true }).click();
      await page.waitForSelector('table, .chart');
      await accessible(page);
    }
  }));
});

const firstTitle = (page) => page.locator('section.figure').first().getAttribute('aria-label');

describe('links bring their view back', () => {
  const controls = (page) => page.evaluate(() => [...document.querySelectorAll('main input, main select')].map((one) => (one.type === 'checkbox' ? one.checked : one.value)).join('|'));
  for (const [name, link, change] of [
    ['Forecast', forecastLink, (page) => page.getByRole('button', { name: 'Throughput', exact: true }).click()],
    ['Compare', compareLink, (page) => page.getByLabel('L40S: dollars an hour').fill('1.5')],
    ['Kernel', kernelLink, (page) => page.getByLabel('k', { exact: true }).fill('8192').then(() => page.getByLabel('k', { exact: true }).blur())],
    ['Serve', loadLink, (page) => page.locator('#serve-at').selectOption('p99')],
    ['Serve, one load', runLink, (page) => page.locator('#serve-from').fill('1').then(() => page.locator('#serve-from').blur())],
    ['Accuracy', '#/accuracy', (page) => page.getByRole('button', { name: 'Card seen' }).click()],
  ])
    it(name, async () => {
      let changed, before;
      await visiting(link, async (page) => {
        await settled(page);
        await change(page);
        await page.waitForTimeout(500);
        await settled(page);
        changed = new URL(page.url()).hash;
        before = [await controls(page), ...await figures(page, await firstTitle(page))];
      });
      assert.notEqual(changed, link);
      await visiting(changed, async (page) => {
        await settled(page);
        assert.deepEqual([await controls(page), ...await figures(page, await firstTitle(page))], before);
      });
    });
});

describe('what is done in a view', () => {
  const taken = async (page, path) => {
    await page.locator('details.paste > summary').click();
    await page.locator('details.paste input[type="file"]').setInputFiles(path);
  };
  // What the view's own command says, whose descriptions go into a folder.
  const inFolder = async (page) => shown(await command(page), await mkdtemp(join(tmpdir(), 'tilecast-page-')));
  const showing = (page, text) => page.waitForFunction((given) => document.querySelector('main')?.innerText.includes(given), text, { timeout: 30_000 });

  it('a model by its config.json', async () => {
    const config = { architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_size: 1024, intermediate_size: 2816, num_hidden_layers: 8, num_attention_heads: 16,
      num_key_value_heads: 4, vocab_size: 32000, max_position_embeddings: 4096, rms_norm_eps: 1e-5, torch_dtype: 'bfloat16', tie_word_embeddings: false };
    const folder = await mkdtemp(join(tmpdir(), 'tilecast-page-'));
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    const rows = await cli(['predict', join(folder, 'config.json'), '--gpu', 'H100-SXM', '--mode', 'prefill', '--seq', '512']);
    await visiting('#/forecast?gpu=H100-SXM&mode=prefill&seq=512', async (page) => {
      await taken(page, join(folder, 'config.json'));
      await showing(page, format.milliseconds(rows[0].step_ms));
    });
    // The same in Compare, whose link brings it back.
    let link;
    await visiting('#/compare?gpu=H100-SXM,L40S&mode=prefill&seq=512&_by=time', async (page) => {
      await taken(page, join(folder, 'config.json'));
      await showing(page, format.milliseconds(rows[0].step_ms));
      link = new URL(page.url()).hash;
    });
    await visiting(link, (page) => showing(page, format.milliseconds(rows[0].step_ms)));
  });

  it('sliders set prices and power limits', () => visiting(`${compareLink}&_by=cost`, async (page) => {
    await settled(page);
    const title = await firstTitle(page), costs = async () => Object.fromEntries((await figures(page, title)).slice(1).map((line) => [line[0], line]));
    const before = await costs();
    await page.getByLabel('L40S: dollars an hour').fill('1');
    await page.getByLabel('H100-SXM: watts at most').fill('400');
    // The command says the new card at once, the picture when its answer is there.
    const drawn = () => page.waitForFunction(() => [...document.querySelectorAll('.chart .name')].some((name) => name.textContent.startsWith('H100-SXM-400')), undefined, { timeout: 30_000 });
    await drawn();
    await settled(page);
    const after = await costs(), capped = (await inFolder(page)).find((row) => row.gpu === 'H100-SXM-400W');
    assert.notDeepEqual(after.L40S, before.L40S);
    expectLine(Object.values(after), ['H100-SXM-400W', capped.step_ms]);
  }));

  it('a card that does not exist, by any field of a real one', () => visiting(`${compareLink}&_by=time&_like=H100-SXM`, async (page) => {
    await settled(page);
    const fields = async (...wanted) => {
      await page.waitForFunction((texts) => texts.every((text) => document.querySelector('section.commands').innerText.includes(text)), wanted);
      await settled(page);
      const rows = await inFolder(page), changed = rows.find((row) => row.gpu === 'H100-SXM-changed');
      await showing(page, format.milliseconds(changed.step_ms));
      return changed.step_ms / rows.find((row) => row.gpu === 'H100-SXM').step_ms;
    };
    await page.getByLabel('DRAM bandwidth', { exact: false }).and(page.locator('input[type="text"]')).fill('6000');
    assert.ok((await fields('"gb_per_s":6000')) < 0.8);
    // A field that is not among the first, found by its name.
    await page.getByText(/^All \d+ fields$/).click();
    await page.getByLabel('Find a field').fill('registers');
    await page.getByLabel('registers of an SM', { exact: false }).and(page.locator('input[type="text"]')).fill('32768');
    await fields('"gb_per_s":6000', '"registers_per_sm":32768');
    await showing(page, 'as built');
    await accessible(page);
  }));

  it('recorded programs are compared step by step', async () => {
    const program = join(root, 'data', 'programs', 'lstm-training-eager-batch128_length256.json.gz');
    const rows = await cli(['predict', program, '--gpu', 'H100-SXM,L40S']);
    await visiting('#/compare?gpu=H100-SXM,L40S&_by=rate', async (page) => {
      await taken(page, program);
      await showing(page, 'Steps a second');
      await settled(page);
      const lines = await figures(page, 'Steps a second');
      for (const row of rows) expectLine(lines, [row.gpu, row.step_ms, (1 / row.step_ms) * 1e3]);
    });
  });

  it('a search is cancelled', () => visiting('#/serve?model=Llama-3.1-70B&rate=20&slo=ttft=500ms,tpot=30ms&_tab=plan', async (page) => {
    await page.getByRole('button', { name: 'Cancel' }).click({ timeout: 30_000 });
    await page.waitForFunction(() => !document.querySelector('.busy.on'));
    assert.equal(await page.locator('.error').count(), 0);
    assert.ok(await page.getByRole('button', { name: 'Look for the best' }).isEnabled());
  }));

  it('an error names its field', async () => {
    const { page, close } = await openPage(browser, address, '#/serve?model=Llama-3.1-8B&gpu=H100-SXM&sweep=rate=nonsense');
    await page.waitForSelector('.error[role="alert"]', { timeout: 30_000 });
    assert.match(await page.locator('.error[role="alert"]').innerText(), /sweep/);
    await close();
  });

  it('SVG and PNG are whole pictures', () => visiting(loadLink, async (page) => {
    await settled(page);
    const svg = (await exported(page, 'Time to first token against load', 'SVG')).toString('utf8');
    assert.match(svg, /^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.ok(!svg.includes('var(--') || !/fill="var/.test(svg), 'colours are written in');
    const png = await exported(page, 'Time to first token against load', 'PNG');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    assert.ok(png.length > 2000);
  }));

  it('a chart is read by the keyboard', () => visiting(loadLink, async (page) => {
    await settled(page);
    await page.locator('.chart [data-mark="0"]').first().focus();
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('data-mark')), '1');
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /80 % interval/);
    await page.waitForSelector('.tooltip');
  }));
});

// What is seen at a glance, and that nothing is wider than the screen; what lies below every picture was judged above.
describe('on a phone, in the dark', () => {
  const links = { Forecast: forecastLink, Compare: compareLink, Kernel: kernelLink, 'Serve, load': loadLink, 'Serve, run': runLink, 'Serve, plan': planLink, Train: trainLink,
    Diagnose: '#/diagnose', Accuracy: '#/accuracy', 'Accuracy, models': '#/accuracy?_part=models', 'Accuracy, blind test': '#/accuracy?_part=blind', 'Accuracy, intervals': '#/accuracy?_part=coverage' };
  for (const [name, link] of Object.entries(links))
    it(name, () => visiting(link, async (page) => {
      if (name === 'Diagnose') await page.waitForSelector('.bigdrop').then(() => upload(page));
      await settled(page, name === 'Accuracy, blind test' ? 'table' : undefined);
      await accessible(page, ['color-contrast', 'scrollable-region-focusable', 'target-size', 'label']);
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(beyond <= 0, `it is ${beyond} px wider than the screen`);
    }, phone));
});

// Bytes on the wire of a path, as a browser would ask for it.
function compressedSize(path) {
  return new Promise((done, failed) => {
    request(`${address}${path}`, { headers: { 'Accept-Encoding': 'gzip' } }, (response) => {
      let size = 0;
      const text = [];
      response.on('data', (part) => {
        size += part.length;
        text.push(part);
      });
      response.on('end', () => done({ size, encoding: response.headers['content-encoding'], text: Buffer.concat(text) }));
    }).on('error', failed).end();
  });
}

describe('small and quick', () => {
  it('the page takes at most 300 kB', async (test) => {
    const names = [];
    await visiting('', async (page) => {
      await settled(page);
      names.push(...await page.evaluate(() => performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname).filter((path) => !path.startsWith('/v1/'))));
    });
    const sizes = await Promise.all(['/', ...names].map(compressedSize));
    const whole = sizes.reduce((sum, one) => sum + one.size, 0);
    test.diagnostic(`${(whole / 1000).toFixed(1)} kB compressed in ${sizes.length} files`);
    assert.ok(sizes.every((one) => one.encoding === 'gzip'));
    assert.ok(whole <= 300_000, `${whole} bytes`);
  });

  // Told, not judged: how busy the machine is decides.
  it('first paint', (test) => visiting('', async (page) => {
    await settled(page);
    const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    const useful = await page.evaluate(() => performance.now());
    test.diagnostic(`first contentful paint after ${Math.round(painted)} ms, first forecast at most ${Math.round(useful)} ms`);
    assert.ok(painted > 0);
  }));
});
