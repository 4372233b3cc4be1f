import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Argument } from '../src/api';
import { asCurl, asPython, asShell, shellQuoted } from '../src/commands';

const argument = (name: string, more: Partial<Argument> = {}): Argument =>
  ({ name, kind: 'text', help: '', unit: '', example: '', default: '', choices: [], aliases: [], required: false, ...more });
const predict = { name: 'predict', arguments: [argument('model', { positional: true }), argument('gpu'), argument('new-tokens')] };

test('for the shell', () => {
  assert.equal(asShell(predict, { model: 'Llama-3.1-8B', gpu: ['H100-SXM', 'B200'], new_tokens: '2', dropout: true, all_logits: false }),
    'tilecast predict Llama-3.1-8B --gpu H100-SXM,B200 --new-tokens 2 --dropout');
  assert.equal(asShell({ name: 'kernel', arguments: [] }, { family: 'gemm', m: '8' }), 'tilecast kernel gemm --m 8');
  assert.equal(asShell(predict, { model: { name: 'step.json.gz', base64: 'AA' } }), 'tilecast predict step.json.gz');
  assert.equal(asShell(predict, { model: 'm', gpu: { name: 'H100-wide', sms: 200 } }), `echo '{"name":"H100-wide","sms":200}' > H100-wide.json\ntilecast predict m --gpu H100-wide.json`);
  assert.equal(asShell(predict, { model: 'm' }, ['--explain']), 'tilecast predict m --explain');
});

test('quotes that a shell leaves alone', () => {
  assert.equal(shellQuoted('a b'), `'a b'`);
  assert.equal(shellQuoted(`it's`), `'it'\\''s'`);
  assert.equal(shellQuoted('H100-SXM,B200'), 'H100-SXM,B200');
});

test('for curl', () => {
  assert.equal(asCurl('plan serve', { model: 'M' }, 'http://x'),
    `curl -s http://x/v1/plan/serve -H 'Content-Type: application/json' -d '{"model":"M"}'`);
  assert.match(asCurl('diagnose', { trace: { name: 't.json.gz', base64: 'AAAA' } }, 'http://x'), /"base64":"'"\$\(base64 -w0 t\.json\.gz\)"'"/);
});

test('in Python', () => {
  assert.match(asPython('predict', { model: 'Llama-3.1-8B', gpu: ['A', 'B'], batch: '32', dropout: true }),
    /tilecast\.predict\("Llama-3\.1-8B", gpu=\["A", "B"\], batch=32, dropout=True\)/);
  assert.match(asPython('plan serve', { model: 'M', slo: 'ttft=1s' }), /tilecast\.plan_serve\("M", slo="ttft=1s"\)/);
  assert.match(asPython('retime', { trace: 't.json', from: 'H100-SXM' }), /\*\*\{"from": "H100-SXM"\}/);
});
