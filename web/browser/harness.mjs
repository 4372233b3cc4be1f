// A real server, a real browser and the command line, for tests that set one beside the other.
import { execFile, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
export const root = resolve(here, '..', '..');
export const program = resolve(process.env.TILECAST ?? join(root, 'build', 'tilecast'));
const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const run = promisify(execFile);

// `tilecast http` on a port of the system's choice; resolves as soon as it says its address.
export function startServer() {
  const server = spawn(program, ['http', '--port', '0', '--log', 'none'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const address = new Promise((found, failed) => {
    server.stderr.on('data', (text) => {
      said += text;
      const match = /https?:\/\/[\d.:[\]a-z]+/.exec(said);
      if (match) found(match[0]);
    });
    server.on('exit', (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
  });
  const stop = () => new Promise((ended) => {
    server.removeAllListeners('exit');
    server.on('exit', (code, signal) => ended(signal ?? code));
    server.kill('SIGTERM');
  });
  return { address, stop, said: () => said };
}

export const startBrowser = () => chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// The document that the command line prints. Exit status 2 is a plan that nothing meets, which is a document too.
export async function cli(args, folder = root) {
  const { stdout } = await run(program, [...args, '--json'], { cwd: folder, maxBuffer: 1 << 28 }).catch((problem) => {
    if (problem.code === 2 && problem.stdout) return problem;
    throw problem;
  });
  return JSON.parse(stdout);
}

// A command as the page shows it, run by a shell; lines before it may write descriptions into the folder.
export async function shown(command, folder = root) {
  if (!/^tilecast /m.test(command)) throw new Error(`no command: ${command}`);
  const { stdout } = await run('bash', ['-c', `tilecast() { "$TILECAST" "$@"; }\n${command} --json`], {
    cwd: folder, maxBuffer: 1 << 28, env: { ...process.env, TILECAST: program },
  }).catch((problem) => {
    if (problem.code === 2 && problem.stdout) return problem;
    throw problem;
  });
  return JSON.parse(stdout);
}

// The page's own way of writing quantities.
export async function formats() {
  const { outputFiles } = await esbuild.build({ entryPoints: [join(here, '..', 'src', 'format.ts')], bundle: true, format: 'esm', write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const require = createRequire(import.meta.url);
export const axeSource = () => readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

export const desktop = { viewport: { width: 1280, height: 900 }, colorScheme: 'light' };
export const phone = { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true };

// A page that remembers whatever went wrong in it.
export async function openPage(browser, address, link, options = desktop) {
  const context = await browser.newContext({ ...options, acceptDownloads: true, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(`console: ${message.text()}`));
  page.on('pageerror', (problem) => problems.push(`error: ${problem.message}`));
  page.on('requestfailed', (request) => {
    // A question that a newer one replaced is called off on purpose.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') problems.push(`request: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) problems.push(`asked elsewhere: ${request.url()}`);
  });
  await page.goto(`${address}/${link}`);
  return { page, problems, close: () => context.close() };
}

// Until the view is there and nothing in it is being computed.
export async function settled(page, waitFor = '.chart .mark') {
  await page.waitForSelector(waitFor, { timeout: 60_000 });
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .busy.on'), undefined, { timeout: 60_000 });
}

function linesOf(csv) {
  const lines = [];
  let cells = [''], inside = false;
  for (let i = 0; i < csv.length; ++i) {
    const letter = csv[i];
    if (inside) {
      if (letter === '"' && csv[i + 1] === '"') cells[cells.length - 1] += csv[++i];
      else if (letter === '"') inside = false;
      else cells[cells.length - 1] += letter;
    } else if (letter === '"') inside = true;
    else if (letter === ',') cells.push('');
    else if (letter === '\n') {
      lines.push(cells);
      cells = [''];
    } else if (letter !== '\r') cells[cells.length - 1] += letter;
  }
  return lines;
}

async function downloaded(page, press) {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  return readFile(await download.path());
}
// What the figure of this title exports, by its button.
export const exported = (page, title, kind) => downloaded(page, () => page.getByRole('button', { name: `${title} as ${kind}`, exact: true }).click());
export const figures = async (page, title) => linesOf((await exported(page, title, 'CSV')).toString('utf8'));
export const saved = (page, name) => downloaded(page, () => page.getByRole('button', { name, exact: true }).click());

export const command = async (page) => (await page.locator('section.commands pre code').innerText()).trim();
