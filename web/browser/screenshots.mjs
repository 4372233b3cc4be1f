// Pictures of the page for docs/page.md: desktop and phone, light and dark, about every view. `make screenshots` makes
// them small with pngquant.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openPage, root, settled, startBrowser, startServer } from './harness.mjs';

const folder = join(root, 'docs', 'page');
const sizes = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 800 } };
const trace = join(root, 'data', 'measurements', 'traces', 'h200_eager.json.gz');

// A phone shows its results below the controls: the picture begins at `at`.
const pictures = [
  { name: 'forecast', size: 'desktop', scheme: 'light', link: '#/forecast' },
  { name: 'forecast-phone', size: 'phone', scheme: 'dark', link: '#/forecast', at: 'section.figure' },
  { name: 'compare', size: 'desktop', scheme: 'dark', link: '#/compare' },
  { name: 'kernel', size: 'desktop', scheme: 'light', link: '#/kernel' },
  { name: 'serve-load', size: 'desktop', scheme: 'light', link: '#/serve' },
  { name: 'serve-plan', size: 'desktop', scheme: 'dark', link: '#/serve?model=Llama-3.1-8B&gpus=L40S,H100-SXM,B200&rate=20&slo=ttft=500ms,tpot=30ms&input=1024&output=256&engines=vllm&_tab=plan' },
  { name: 'serve-run-phone', size: 'phone', scheme: 'light', link: '#/serve?model=Llama-3.1-8B&gpu=L40S&rate=8&input=1024&output=256&num_prompts=300&_tab=run', at: '.facts' },
  { name: 'train', size: 'desktop', scheme: 'light', link: '#/train?model=Llama-3.1-70B&gpus=32xH100-SXM&global_batch=64&seq=4096&tokens=1T&_rank=1' },
  { name: 'train-pipeline', size: 'desktop', scheme: 'dark', link: '#/train?model=Llama-3.1-70B&gpus=32xH100-SXM&global_batch=64&seq=4096&tokens=1T&_rank=1', at: 'section[aria-label="Memory by rank"]' },
  { name: 'diagnose', size: 'desktop', scheme: 'light', link: '#/diagnose', file: trace },
  { name: 'accuracy', size: 'desktop', scheme: 'dark', link: '#/accuracy' },
  { name: 'accuracy-phone', size: 'phone', scheme: 'light', link: '#/accuracy?_part=coverage' },
];

const server = startServer();
const [address, browser] = await Promise.all([server.address, startBrowser()]);
const only = process.argv.slice(2);
await mkdir(folder, { recursive: true });
for (const { name, size, scheme, link, at, file } of pictures) {
  if (only.length && !only.includes(name)) continue;
  const { page, problems, close } = await openPage(browser, address, link, { viewport: sizes[size], colorScheme: scheme });
  if (file) {
    await page.waitForSelector('.bigdrop');
    await page.locator('.bigdrop input[type="file"]').setInputFiles(file);
  }
  await settled(page, link.startsWith('#/train') ? '.chart .span' : undefined);
  if (at)
    await page.evaluate((selector) => {
      const top = document.querySelector(selector).getBoundingClientRect().top + scrollY - document.querySelector('header.top').offsetHeight - 14;
      scrollTo(0, top);
    }, at);
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(folder, `${name}.png`), caret: 'initial' });
  await close();
  console.log(`docs/page/${name}.png${problems.length ? ` (${problems.join('; ')})` : ''}`);
}
await browser.close();
await server.stop();
