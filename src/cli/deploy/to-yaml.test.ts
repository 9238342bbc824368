import { describe, expect, it } from 'vitest';

import { toYaml } from './to-yaml.js';

describe('YAML', () => {
  it('has lists and records in blocks', () => {
    expect(toYaml({ a: { b: [1, true, 'x'], c: [{ d: 'e', f: { g: 1 } }, ['h']] }, i: [], j: {}, k: undefined })).toBe(
      [
        'a:',
        '  b:',
        '    - 1',
        '    - true',
        '    - x',
        '  c:',
        '    - d: e',
        '      f:',
        '        g: 1',
        '    - - h',
        'i: []',
        'j: {}',
        '',
      ].join('\n'),
    );
  });

  it.each(['', ' x', 'yes', 'No', 'null', '1', '0x1', '1e3', '-', '~', 'a: b', 'a #b', '*a', '&a', '!a', '%a', '@a', 'a\nb', '"', "'", '{}', '[]', '2026-01-01', 'a:1', '.5', 'é'])(
    'quotes %j, which it could read as something else',
    (text) => {
      expect(toYaml({ key: text })).toBe(`key: ${JSON.stringify(text)}\n`);
    },
  ); // prettier-ignore

  it.each(['RollingUpdate', 'app.kubernetes.io/name', '/v2/health/live', 'a-b_c'])('leaves %s as it is', (text) => {
    expect(toYaml(text)).toBe(`${text}\n`);
  });
});
