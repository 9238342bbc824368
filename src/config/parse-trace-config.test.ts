import { describe, expect, it } from 'vitest';

import { parseTraceConfig } from './parse-trace-config.js';

const MODE = 'mode=opentelemetry';

describe('traceConfig', () => {
  it('is off when nothing is given', () => {
    expect(parseTraceConfig([])).toBeUndefined();
  });

  it.each([
    ['the defaults of Triton', [MODE], { level: ['OFF'], rate: 1000, count: -1 }],
    ['every setting', [MODE, 'level=TIMESTAMPS', 'rate=1', 'count=20'], { level: ['TIMESTAMPS'], rate: 1, count: 20 }],
    ['settings in any order, with space around', [' rate = 5 ', ` ${MODE}`], { level: ['OFF'], rate: 5, count: -1 }],
    ['a level more than once', [MODE, 'level=TIMESTAMPS', 'level=timestamps'], { level: ['TIMESTAMPS'] }],
    [
      'a trace file, which is what Triton means where no mode is given',
      ['triton,file=/tmp/x', 'triton,log-frequency=50', 'level=TENSORS', 'level=TIMESTAMPS'],
      { mode: 'triton', file: '/tmp/x', logFrequency: 50, level: ['TENSORS', 'TIMESTAMPS'], rate: 1000, count: -1 },
    ],
    ['no requests but those of callers that trace', [MODE, 'rate=0', 'count=0'], { rate: 0, count: 0 }],
  ])('takes %s', (_what, given, expected) => {
    expect(parseTraceConfig(given)).toMatchObject(expected);
  });

  it.each([
    ['an exporter', [MODE, 'opentelemetry,url=localhost:4318/v1/traces'], 'the exporter, its URL, its batches and the'],
    ['a resource', [MODE, 'opentelemetry,resource=service.name=me'], 'belong to the provider that you register'],
    ['tensors', [MODE, 'level=TENSORS'], "'level=TENSORS' is not supported with mode=opentelemetry: spans hold no"],
  ])('refuses %s as UNSUPPORTED, and says why', (_what, given, message) => {
    expect(() => parseTraceConfig(given)).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining(message) }),
    );
  });

  it.each([
    [
      'no mode and no file',
      ['rate=1'],
      "'mode=triton' needs the name of a trace file, as 'triton,file=trace.json', got none",
    ],
    ['another mode', ['mode=zipkin'], "'mode' must be triton or opentelemetry, got 'zipkin'"],
    ['a trace file of the other mode', [MODE, 'triton,file=/tmp/x'], "'triton,file=…' is for 'mode=triton'"],
    ['an unknown setting of files', ['triton,name=/tmp/x'], "unknown setting in 'triton,name=/tmp/x'"],
    ['a frequency below 0', ['triton,file=x', 'triton,log-frequency=-1'], "'log-frequency' must be an integer from 0"],
    ['no setting', ['opentelemetry'], "traceConfig must be like 'mode=opentelemetry', got 'opentelemetry'"],
    [
      'an unknown setting',
      [MODE, 'rates=1'],
      "unknown setting in 'rates=1', known are mode, level, rate, count, triton,file, triton,log-frequency",
    ],
    ['an unknown section', [MODE, 'zipkin,url=x'], "unknown setting in 'zipkin,url=x'"],
    ['an unknown level', [MODE, 'level=MAX'], "'level' must be OFF, TIMESTAMPS, TENSORS, got 'MAX'"],
    ['OFF and another level', [MODE, 'level=OFF', 'level=TIMESTAMPS'], "expect only one trace level 'OFF'"],
    ['a setting twice', [MODE, 'rate=1', 'rate=2'], "traceConfig has 'rate' twice, expected it once"],
    ['a rate below 0', [MODE, 'rate=-1'], "'rate' must be an integer from 0 to 4294967295, got '-1'"],
    ['a rate that is no integer', [MODE, 'rate=1.5'], "got '1.5'"],
    ['no rate', [MODE, 'rate='], "got ''"],
    ['a count below -1', [MODE, 'count=-2'], "'count' must be an integer from -1 to 2147483647, got '-2'"],
  ])('refuses %s', (_what, given, message) => {
    expect(() => parseTraceConfig(given)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) }),
    );
  });
});
