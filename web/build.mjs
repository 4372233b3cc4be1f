// Builds the page into dist/: index.html, one script and one style sheet, the latter two named by what is in them, so
// that browsers may keep them for good. `--watch` rebuilds on every change, `--tests` builds the unit tests instead.
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';
import { evidencePlugin } from './evidence.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');
const largestCompressed = 300_000; // bytes of everything that opening the page loads

const common = {
  plugins: [evidencePlugin(join(here, '..', 'docs'))],
  bundle: true,
  target: ['es2021'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
  absWorkingDir: here,
};

async function buildTests() {
  const tests = (await readdir(join(here, 'test'))).filter((name) => /\.test\.tsx?$/.test(name));
  await rm(join(here, 'dist-test'), { recursive: true, force: true });
  await esbuild.build({
    ...common,
    entryPoints: tests.map((name) => join('test', name)),
    outdir: 'dist-test',
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    format: 'esm',
    sourcemap: 'inline',
  });
}

// esbuild's own hashes would do for names, but the style sheet and the page have to name each other's files.
const named = (stem, extension, bytes) =>
  `${stem}-${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.${extension}`;

async function writePage(outputFiles) {
  const bytesOf = (extension) => outputFiles.find((file) => file.path.endsWith(extension)).contents;
  const script = bytesOf('.js'), style = bytesOf('.css');
  const scriptName = named('page', 'js', script), styleName = named('page', 'css', style);
  const html = (await readFile(join(here, 'src', 'index.html'), 'utf8'))
    .replace('page.js', `assets/${scriptName}`)
    .replace('page.css', `assets/${styleName}`);
  await rm(dist, { recursive: true, force: true });
  await mkdir(join(dist, 'assets'), { recursive: true });
  await writeFile(join(dist, 'assets', scriptName), script);
  await writeFile(join(dist, 'assets', styleName), style);
  await writeFile(join(dist, 'index.html'), html);
  const compressed = [script, style, html].reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
  console.log(`web/dist: ${(compressed / 1000).toFixed(1)} kB compressed`);
  if (compressed > largestCompressed) throw new Error(`the page is larger than ${largestCompressed} bytes compressed`);
}

const page = {
  ...common,
  entryPoints: ['src/main.tsx'],
  outfile: 'dist/page.js',
  format: 'iife',
  minify: true,
  write: false,
  metafile: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [...common.plugins, {
    name: 'write-page',
    setup: (build) => build.onEnd((result) => (result.errors.length ? undefined : writePage(result.outputFiles))),
  }],
};

if (process.argv.includes('--tests')) await buildTests();
else if (process.argv.includes('--watch')) await (await esbuild.context(page)).watch();
else await esbuild.build(page);
