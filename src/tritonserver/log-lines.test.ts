import { describe, expect, it } from 'vitest';

import { LogLines } from './log-lines.js';

function logOf(text: string, cut = text.length) {
  const entries: string[] = [];
  const to = (level: string) => (message: string) => void entries.push(`${level} ${message}`);
  const lines = new LogLines({
    error: to('error'),
    warn: to('warning'),
    info: to('info'),
    verbose: (level, message) => void entries.push(`verbose${level} ${message}`),
  });
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += cut) lines.push(bytes.subarray(i, i + cut));
  lines.end();
  return { entries, reason: lines.reason };
}

describe("tritonserver's log", () => {
  it.each([1000, 1])('goes to the logger by its levels, cut at %i bytes', (cut) => {
    const text = [
      'I1124 03:17:00.498000 20993 python_be.cc:2249] "TRITONBACKEND_ModelInstanceInitialize: \\"ä\\""',
      'W1124 03:17:00.498000 20993 metrics.cc:1] old form',
      'E1124 03:17:00.498000 20993 model.cc:1] "failed\\nbadly"',
      'I1124 03:17:00.498000 20993 server.cc:604] ',
      '+------+------+',
      '| Name | Path |',
      '',
      'a print of a model',
    ].join('\n');
    expect(logOf(text, cut).entries).toEqual([
      'info tritonserver: TRITONBACKEND_ModelInstanceInitialize: "ä"',
      'warning tritonserver: old form',
      'error tritonserver: failed\nbadly',
      'verbose1 tritonserver: +------+------+',
      'verbose1 tritonserver: | Name | Path |',
      'info tritonserver: a print of a model',
    ]);
  });

  it.each([
    [
      'the line that says why',
      'E1124 03:17:00.4 1 a.cc:1] "an error"\nerror: creating server: no\nbye\n',
      'error: creating server: no',
    ],
    [
      'a wrong flag rather than the help',
      "/bin/t: unrecognized option '--x'\nUsage: much\n",
      "/bin/t: unrecognized option '--x'",
    ],
    ['the last error', 'E1124 03:17:00.4 1 a.cc:1] "one"\nE1124 03:17:00.4 1 a.cc:1] "two"\nbye\n', 'two'],
    ['the last line', 'one\ntwo\n', 'two'],
    ['nothing', '', ''],
  ])('gives as the reason of an end %s', (_, text, reason) => {
    expect(logOf(text).reason).toBe(reason);
  });
});
