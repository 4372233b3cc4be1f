// The texts are those of the command line: the values are the ones that cli/terminal/units_text_test.cpp and the
// README's tables show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../src/format';

test('times', () => {
  assert.equal(format.microseconds(0), '0');
  assert.equal(format.microseconds(0.382), '382 ns');
  assert.equal(format.microseconds(0.0772), '77.2 ns');
  assert.equal(format.microseconds(6.01), '6.01 µs');
  assert.equal(format.microseconds(999.5), '1.00 ms');
  assert.equal(format.milliseconds(9.520654502939397), '9.52 ms');
  assert.equal(format.milliseconds(18.40061628194336), '18.4 ms');
  assert.equal(format.seconds(90), '90.0 s');
  assert.equal(format.seconds(1800), '30.0 minutes');
  assert.equal(format.days(1.5), '36.0 hours');
  assert.equal(format.days(2500), '2,500 days');
});

test('amounts: data in powers of 1024, rates in powers of 1000', () => {
  assert.equal(format.bytes(80 * 2 ** 30), '80.0 GiB');
  assert.equal(format.bytes(76304388980.736), '71.1 GiB');
  assert.equal(format.bytes(107374182.4), '102 MiB');
  assert.equal(format.bytes(0), '0 B');
  assert.equal(format.bytes(1023.7), '1.00 KiB');
  assert.equal(format.bytesPerSecond(3352.3e9), '3.35 TB/s');
  assert.equal(format.operationsPerSecond(989.4e12), '989 Top/s');
});

test('shares, counts, money', () => {
  assert.equal(format.percent(0.5398), '54 %');
  assert.equal(format.percent(-0.001), '0 %');
  assert.equal(format.percent(NaN), '–');
  assert.equal(format.count(8030261248), '8.03 B');
  assert.equal(format.count(12), '12');
  assert.equal(format.grouped(85632), '85,632');
  assert.equal(format.grouped(-1234567), '-1,234,567');
  assert.equal(format.grouped(123), '123');
  assert.equal(format.dollars(0.034), '$0.034');
  assert.equal(format.dollars(2.5), '$2.50');
  assert.equal(format.dollars(1234.5), '$1,235');
});

test('small values as C writes %.2g', () => {
  assert.equal(format.threeDigits(0.0012), '0.0012');
  assert.equal(format.threeDigits(0.000012), '1.2e-05');
});

test('durations read', () => {
  assert.equal(format.millisecondsOf('500ms'), 500);
  assert.equal(format.millisecondsOf('2 s'), 2000);
  assert.equal(format.millisecondsOf('30'), 30);
  assert.equal(format.millisecondsOf('soon'), undefined);
});
