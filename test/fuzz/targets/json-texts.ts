// Texts of JSON: strange values, and the JSON of requests.
import type { Random } from '../../support/random-life/random.js';

const NAMES = [
  'name',
  'shape',
  'datatype',
  'data',
  'parameters',
  'inputs',
  'outputs',
  'id',
  '__proto__',
  '',
  'é',
  '\\u0041',
];
const SCALARS = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '12345678901234567890',
  '-9223372036854775808',
  '18446744073709551615',
  '18446744073709551616',
  '1.5',
  '-0.0',
  '1e5',
  '1E-400',
  '4.9406564584124654e-324',
  '1.7976931348623157e308',
  'NaN',
  '-Infinity',
  'Inf',
  '""',
  '"a"',
  '"\\u00e9\\n\\ud83d\\ude00"',
  '"😀é"',
  '"\\/\\b\\f\\t"',
];
const SPACES = ['', '', '', ' ', '\n', '\r\n\t '];

export function jsonText(random: Random, depth = 0): string {
  const kind = random.weighted({ scalar: depth < 1 ? 1 : 4, array: depth > 4 ? 0 : 2, object: depth > 4 ? 0 : 2 });
  const space = random.of(SPACES);
  if (kind === 'scalar') return space + random.of(SCALARS) + space;
  const count = random.of([0, 1, 1, 2, 3, 8]);
  const parts = Array.from({ length: count }, () => {
    const value = jsonText(random, depth + 1);
    return kind === 'array' ? value : `${random.of(SPACES)}"${random.of(NAMES)}"${random.of(SPACES)}:${value}`;
  });
  const inner = parts.join(',');
  return kind === 'array' ? `${space}[${inner}${space}]` : `{${inner}${space}}${space}`;
}
