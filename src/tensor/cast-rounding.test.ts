// Every cast to a float rounds once, to the nearest and from a tie to even: held against exact arithmetic with BigInts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Dtype, DTYPES } from './dtype.js';
import { Tensor } from './tensor.js';

/** Bits of the significand, and the exponent of the least step. */
const FLOATS = {
  float16: { precision: 11, least: -24 },
  bfloat16: { precision: 8, least: -133 },
  float32: { precision: 24, least: -149 },
  float64: { precision: 53, least: -1074 },
} as const;
type FloatDtype = keyof typeof FLOATS;
const FLOAT_DTYPES = Object.keys(FLOATS) as FloatDtype[];

/** `units` times 2 to the power of `exponent`. */
interface Exact {
  readonly units: bigint;
  readonly exponent: number;
}

function exactly(value: number | bigint | boolean): Exact {
  if (typeof value !== 'number') return { units: BigInt(value), exponent: 0 };
  let [units, exponent] = [value, 0];
  for (; !Number.isInteger(units); exponent--) units *= 2;
  return { units: BigInt(units), exponent };
}

/** The multiple of the step that is nearest: what a float of that type is. */
function nearest({ units, exponent }: Exact, dtype: FloatDtype): Exact {
  const { precision, least } = FLOATS[dtype];
  const magnitude = units < 0n ? -units : units;
  const shift = Math.max(magnitude.toString(2).length - precision, least - exponent);
  if (shift <= 0) return { units, exponent };
  const step = 1n << BigInt(shift);
  const rest = magnitude % step;
  const kept = magnitude / step;
  const isUp = rest * 2n > step || (rest * 2n === step && kept % 2n === 1n);
  return { units: (units < 0n ? -1n : 1n) * (kept + (isUp ? 1n : 0n)), exponent: exponent + shift };
}

function isSame(a: Exact, b: Exact): boolean {
  const least = Math.min(a.exponent, b.exponent);
  return a.units << BigInt(a.exponent - least) === b.units << BigInt(b.exponent - least);
}

/** Casts values that fit, and tells those that do not become their nearest. */
function wrongOf(from: Dtype, to: FloatDtype, values: readonly (number | bigint)[]): string[] {
  const { array } = DTYPES[from];
  if (array === undefined) throw new Error('no numbers');
  const tensor = Tensor.from(from, values as number[]);
  const sources = tensor.toNested() as (number | bigint | boolean)[];
  const results = tensor.cast(to).toNested() as number[];
  return sources.flatMap((source, i) =>
    isSame(exactly(results[i]!), nearest(exactly(source), to)) ? [] : [`${from} ${source} to ${to}: ${results[i]!}`],
  );
}

const [, halfLimit] = DTYPES.float16.range;

/** Magnitudes that do not round to infinity. */
const fits = (to: FloatDtype, value: number | bigint) =>
  Math.abs(Number(value)) < (to === 'float16' ? halfLimit : 2 ** 127);

/** Integers about halfway between two floats of a type: where a second rounding shows. */
const nearTies = (to: FloatDtype, bits: number, isSigned: boolean) => {
  const { precision } = FLOATS[to];
  const top = isSigned ? bits - 1 : bits;
  return fc
    .record({
      kept: fc.bigInt({ min: 1n << BigInt(precision - 1), max: (1n << BigInt(precision)) - 1n }),
      shift: fc.integer({ min: 1, max: Math.max(1, top - precision) }),
      off: fc.constantFrom(0n, 1n, -1n, 2n, -2n, 3n),
      isNegative: fc.boolean(),
    })
    .map(({ kept, shift, off, isNegative }) => {
      const value = (kept << BigInt(shift)) + (1n << BigInt(shift - 1)) + off;
      const magnitude = BigInt.asUintN(top, value);
      return isSigned && isNegative ? -magnitude : magnitude;
    });
};

const WIDE = [
  ['int64', 64, true],
  ['uint64', 64, false],
  ['int32', 32, true],
  ['uint32', 32, false],
] as const;

describe('a cast to a float', () => {
  it('does not take 2^54 + 2^30 + 1 for a tie', () => {
    const value = 2n ** 54n + 2n ** 30n + 1n;
    expect(Tensor.from('int64', [value]).cast('float32').data[0]).toBe(2 ** 54 + 2 ** 31);
    expect(Tensor.from('int64', [-value]).cast('float32').data[0]).toBe(-(2 ** 54) - 2 ** 31);
    expect(Tensor.from('float32', [value]).data[0]).toBe(2 ** 54 + 2 ** 31);
    expect(
      Tensor.from('uint64', [2n ** 63n + 2n ** 55n + 1n])
        .cast('bfloat16')
        .toNested(),
    ).toEqual([2 ** 63 + 2 ** 56]);
  });

  it.each(
    (['bool', 'uint8', 'int8', 'uint16', 'int16'] as const).flatMap((from) =>
      FLOAT_DTYPES.map((to) => [from, to] as const),
    ),
  )('rounds every %s to the nearest %s', (from, to) => {
    const [least, most] = DTYPES[from].range;
    const values = Array.from({ length: most - least + 1 }, (_, i) => least + i).filter((value) => fits(to, value));
    expect(wrongOf(from, to, values)).toEqual([]);
  });

  it.each((['float16', 'bfloat16'] as const).flatMap((from) => FLOAT_DTYPES.map((to) => [from, to] as const)))(
    'rounds every finite %s to the nearest %s',
    (from, to) => {
      const all = new Tensor(
        from,
        Uint16Array.from({ length: 65_536 }, (_, bits) => bits),
      ).toNested() as number[];
      expect(
        wrongOf(
          from,
          to,
          all.filter((value) => Number.isFinite(value) && fits(to, value)),
        ),
      ).toEqual([]);
    },
  );

  it.each(WIDE.flatMap(([from, bits, isSigned]) => FLOAT_DTYPES.map((to) => [from, to, bits, isSigned] as const)))(
    'rounds each %s to the nearest %s',
    (from, to, bits, isSigned) => {
      const ties = fc.array(nearTies(to, bits, isSigned), { maxLength: 50 });
      const any = fc.array(isSigned ? fc.bigInt(-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n) : fc.bigInt(0n, (1n << BigInt(bits)) - 1n)); // prettier-ignore
      const property = fc.property(ties, any, (near, others) => {
        expect(
          wrongOf(
            from,
            to,
            [...near, ...others].filter((value) => fits(to, value)),
          ),
        ).toEqual([]);
      });
      fc.assert(property, { numRuns: 200 });
    },
  );

  it.each((['float32', 'float64'] as const).flatMap((from) => FLOAT_DTYPES.map((to) => [from, to] as const)))(
    'rounds each %s to the nearest %s',
    (from, to) => {
      const { precision, least } = FLOATS[to];
      /** A float of the target, and half a step and a little more. */
      const ties = fc
        .record({
          kept: fc.integer({ min: 0, max: 2 ** Math.min(precision, 51) - 1 }),
          exponent: fc.integer({ min: least, max: to === 'float16' ? 4 : 100 }),
          off: fc.constantFrom(
            0,
            2 ** -20,
            -(2 ** -20),
            2 ** -40,
            -(2 ** -40),
            Number.EPSILON / 2,
            -Number.EPSILON / 2,
          ),
          sign: fc.constantFrom(1, -1),
        })
        .map(({ kept, exponent, off, sign }) => sign * (kept + 0.5) * (1 + off) * 2 ** exponent);
      const float = from === 'float32' ? fc.float({ noNaN: true, noDefaultInfinity: true }) : fc.double({ noNaN: true, noDefaultInfinity: true }); // prettier-ignore
      const property = fc.property(fc.array(ties, { maxLength: 50 }), fc.array(float), (near, others) => {
        const values = [...near, ...others].filter((value) => fits(to, value) && fits(from, value));
        expect(wrongOf(from, to, values)).toEqual([]);
      });
      fc.assert(property, { numRuns: 200 });
    },
  );

  it('takes integers of any size, up to the first that round to infinity', () => {
    const limit = 2n ** 128n - 2n ** 103n;
    expect(Tensor.from('float32', [limit - 1n]).data[0]).toBe(2 ** 128 - 2 ** 104);
    expect(Tensor.from('bfloat16', [2n ** 128n - 2n ** 119n - 1n]).toNested()).toEqual([2 ** 128 - 2 ** 120]);
    expect(Tensor.from('float16', [65_519n]).toNested()).toEqual([65_504]);
    for (const large of [limit, 10n ** 40n, 10n ** 400n]) {
      expect(() => Tensor.from('float32', [large])).toThrow('element 0 does not fit float32');
    }
    expect(() => Tensor.from('float64', [10n ** 400n])).toThrow('element 0 does not fit float64');
  });

  it('multiplies integers beyond 2^53 by the scale before it rounds', () => {
    const property = fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.double({ min: -(2 ** 60), max: 2 ** 60, noNaN: true }), (value, scale) => {
      const factor = exactly(scale);
      const product = { units: value * factor.units, exponent: factor.exponent };
      const [result] = Tensor.from('int64', [value]).cast('float64', scale).toNested() as [number];
      expect(isSame(exactly(result), nearest(product, 'float64'))).toBe(true);
    }); // prettier-ignore
    fc.assert(property, { numRuns: 2_000 });
  });
});
