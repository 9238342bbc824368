import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { numberReader as nodeReader } from '../../protocol/http/number-data.js';
import { parseJson } from '../../protocol/json/json-parser.js';
import type { JsonArray } from '../../protocol/json/json-value.js';
import type { Datatype } from '../../tensor/dtype.js';
import { numberReader as browserReader } from './browser-number-data.js';

const DATATYPES = [
  'BOOL', 'INT8', 'INT16', 'INT32', 'INT64', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'FP32', 'FP64',
] as const satisfies readonly Datatype[]; // prettier-ignore

function read(reader: typeof nodeReader, text: string, datatype: Datatype, count: number, step: number): unknown {
  try {
    const started = reader(parseJson(Buffer.from(text)) as JsonArray, { datatype, count, name: 'x' });
    while (!started.advance(step));
    return [...started.values];
  } catch (error) {
    // Behind Triton's words stands what was expected, in Node alone.
    return String(error).split(': expected ')[0];
  }
}

const element = fc.oneof(
  fc.integer({ min: -300, max: 300 }).map(String),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('true', 'false', 'null', '"1"', '-0', '-0.0', '1e2', '1E+2', 'NaN', 'Infinity', '-Infinity', '{}'),
);
const list = fc.array(element, { maxLength: 4 }).map((elements) => `[${elements.join(', ')}]`);
const nested = fc.array(fc.oneof(list, element), { maxLength: 4 }).map((parts) => `[${parts.join(',')} ]`);
const anything = fc.record({ text: nested, count: fc.nat(8) });

/** As many elements as are said to come, each of the datatype. */
function fitting(datatype: Datatype): fc.Arbitrary<{ readonly text: string; readonly count: number }> {
  const isBool = datatype === 'BOOL';
  const fit = isBool ? fc.constantFrom('true', 'false') : fc.integer({ min: 0, max: 127 }).map(String);
  const rows = fc.array(fc.array(fit, { maxLength: 4 }), { maxLength: 4 });
  return rows.map((row) => ({ text: `[${row.map((one) => `[${one.join(', ')}]`).join()}]`, count: row.flat().length }));
}

describe('numbers of JSON in browsers', () => {
  it.each(DATATYPES)('are read as in Node, or refused with the same words: %s', (datatype) => {
    let values = 0;
    let refusals = 0;
    fc.assert(
      fc.property(fc.oneof(anything, fitting(datatype)), fc.integer({ min: 1, max: 40 }), ({ text, count }, step) => {
        const expected = read(nodeReader, text, datatype, count, Infinity);
        expect(read(browserReader, text, datatype, count, step)).toEqual(expected);
        if (typeof expected === 'string') refusals++;
        else values++;
      }),
    );
    expect(values * refusals).toBeGreaterThan(0);
  });

  it.each([
    ['INT64', '[9223372036854775807, -9223372036854775808, 1]', 3],
    ['UINT64', '[18446744073709551615, 0]', 2],
    ['FP32', '[0.1, 3.5e38, 16777217, -0.0, -0]', 5],
    ['BOOL', '[true, [false]]', 2],
    ['INT8', '[127, -128]', 2],
  ] as const)('are exact at the ends of %s', (datatype, text, count) => {
    const values = read(nodeReader, text, datatype, count, Infinity);
    expect(values).toBeInstanceOf(Array);
    expect(read(browserReader, text, datatype, count, Infinity)).toEqual(values);
  });
});
