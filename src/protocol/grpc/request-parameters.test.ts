import { describe, expect, it } from 'vitest';

import type { ParameterMap, ParameterValue } from './infer-parameters.js';
import { readOutputForm, readRequestParameters, readSharedMemory } from './request-parameters.js';

const bool: ParameterValue = { kind: 'bool', value: true };
const int64: ParameterValue = { kind: 'int64', value: 7 };
const uint64: ParameterValue = { kind: 'uint64', value: 7 };
const string: ParameterValue = { kind: 'string', value: 'text' };
const double: ParameterValue = { kind: 'double', value: 2.5 };
const unset: ParameterValue = { kind: 'unset' };
const KINDS = { bool, int64, uint64, string, double, unset };

const mapOf = (entries: Readonly<Record<string, ParameterValue>>): ParameterMap => new Map(Object.entries(entries));
const read = (entries: Readonly<Record<string, ParameterValue>>) => readRequestParameters(mapOf(entries));
const invalid = (message: string) => expect.objectContaining({ code: 'INVALID_ARG', message });

const ALLOWED = {
  sequence_id: [['int64', 'string'], 'int64_param or string_param'],
  sequence_start: [['bool'], 'bool_param'],
  sequence_end: [['bool'], 'bool_param'],
  priority: [['int64', 'uint64'], 'int64_param or uint64_param'],
  timeout: [['int64'], 'int64_param'],
  triton_enable_empty_final_response: [['bool'], 'bool_param'],
  custom: [['bool', 'int64', 'string', 'double'], 'int64_param, bool_param, or string_param'],
  binary_data_output: [['bool', 'int64', 'string', 'double'], 'int64_param, bool_param, or string_param'],
  Triton_x: [['bool', 'int64', 'string', 'double'], 'int64_param, bool_param, or string_param'],
} as const;

const cases = Object.entries(ALLOWED).flatMap(([name, [kinds, expected]]) =>
  Object.entries(KINDS).map(([kind, value]) => ({
    name,
    kind,
    value,
    expected,
    allowed: (kinds as readonly string[]).includes(kind),
  })),
);

describe('readRequestParameters', () => {
  it.each(cases.filter(({ allowed }) => allowed))('takes $name as $kind', ({ name, value }) => {
    expect(() => read({ [name]: value })).not.toThrow();
  });

  it.each(cases.filter(({ allowed }) => !allowed))('refuses $name as $kind', ({ name, value, expected }) => {
    expect(() => read({ [name]: value })).toThrow(
      invalid(`invalid value type for '${name}' parameter, expected ${expected}.`),
    );
  });

  it('gives custom parameters to the model and keeps those for the server out of them', () => {
    const read3 = read({
      b: bool,
      i: int64,
      s: string,
      d: double,
      priority: uint64,
      timeout: int64,
      sequence_id: string,
      sequence_start: bool,
    });
    expect(read3).toEqual({
      parameters: { b: true, i: 7, s: 'text', d: 2.5 },
      priority: 7,
      timeoutMicroseconds: 7,
      sequence: { id: 'text', start: true, end: false },
      emptyFinalResponse: false,
    });
    expect(read({ sequence_end: bool }).parameters).toBeUndefined();
    expect(read({}).sequence).toBeUndefined();
  });

  it('keeps integers exact and passes NaN on', () => {
    expect(read({ i: { kind: 'int64', value: -(2n ** 63n) }, d: { kind: 'double', value: NaN } }).parameters).toEqual({
      i: -(2n ** 63n),
      d: NaN,
    });
  });

  it('takes a parameter called __proto__ for what it is', () => {
    const { parameters } = read({ ['__proto__']: string });
    expect(Object.keys(parameters!)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(parameters)).toBe(Object.prototype);
  });

  it.each(['triton_final_response', 'triton_x', 'triton_'])('refuses the reserved name %s before its kind', (name) => {
    const message =
      "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response";
    expect(() => read({ [name]: unset })).toThrow(invalid(message));
  });

  it('refuses a negative priority', () => {
    expect(() => read({ priority: { kind: 'int64', value: -7 } })).toThrow(
      invalid("invalid value for 'priority', expected value >= 0."),
    );
  });

  it('reads a negative timeout as a very long one, as Triton does', () => {
    expect(read({ timeout: { kind: 'int64', value: -1 } }).timeoutMicroseconds).toBe(2 ** 64);
    expect(read({ timeout: { kind: 'int64', value: 2n ** 63n - 1n } }).timeoutMicroseconds).toBe(2 ** 63);
  });

  it('reads a sequence id as unsigned, as Triton does', () => {
    expect(read({ sequence_id: { kind: 'int64', value: -7 } }).sequence?.id).toBe(18446744073709551609n);
    expect(read({ sequence_id: int64 }).sequence).toEqual({ id: 7, start: false, end: false });
    expect(read({ sequence_id: { kind: 'int64', value: 0 } }).sequence).toBeUndefined();
  });

  it('refuses a sequence id of more than 128 bytes', () => {
    expect(() => read({ sequence_id: { kind: 'string', value: 'x'.repeat(128) } })).not.toThrow();
    expect(() => read({ sequence_id: { kind: 'string', value: `${'x'.repeat(127)}ü` } })).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: 'string correlation ID cannot be longer than 128 characters',
      }),
    );
  });
});

describe('parameters of tensors', () => {
  const size: ParameterValue = { kind: 'int64', value: 64 };

  it('passes over those that mean nothing to the server', () => {
    expect(() => readSharedMemory(mapOf({ binary_data_size: size, other: unset }), 'x')).not.toThrow();
    expect(() => readOutputForm(mapOf({ binary_data: bool, other: uint64 }), 'y')).not.toThrow();
  });

  it.each([
    [
      { shared_memory_region: size },
      "invalid value type for 'shared_memory_region' parameter for tensor 'x', expected string_param.",
    ],
    [
      { shared_memory_region: string },
      "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      { shared_memory_offset: size },
      "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      { shared_memory_byte_size: size },
      "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      { shared_memory_region: string, shared_memory_byte_size: uint64 },
      "invalid value type for 'shared_memory_byte_size' parameter for tensor 'x', expected int64_param.",
    ],
    [
      { shared_memory_region: string, shared_memory_byte_size: size, shared_memory_offset: string },
      "invalid value type for 'shared_memory_offset' parameter for tensor 'x', expected int64_param.",
    ],
  ])('refuses %j of an input and of an output', (entries, message) => {
    expect(() => readSharedMemory(mapOf(entries), 'x')).toThrow(invalid(message));
    expect(() => readOutputForm(mapOf(entries), 'x')).toThrow(invalid(message));
  });

  it('tells where a tensor lies in shared memory, from the start of the region unless it says otherwise', () => {
    const entries = mapOf({ shared_memory_region: string, shared_memory_byte_size: size });
    const reference = { region: 'text', offset: 0, byteSize: 64 };
    expect(readSharedMemory(entries, 'x')).toEqual(reference);
    expect(readOutputForm(entries, 'y')).toEqual({ sharedMemory: reference, classes: undefined });
    const further = mapOf({ ...Object.fromEntries(entries), shared_memory_offset: int64 });
    expect(readSharedMemory(further, 'x')).toEqual({ ...reference, offset: 7 });
  });

  it.each([
    [bool, "invalid value type for 'classification' parameter, expected int64_param"],
    [unset, "invalid value type for 'classification' parameter, expected int64_param"],
    [{ kind: 'int64', value: 0 }, "invalid value for 'classification' parameter, expected >= 0"],
    [{ kind: 'int64', value: -1 }, "invalid value for 'classification' parameter, expected >= 0"],
  ] as const)('refuses the classification %j', (classification, message) => {
    expect(() => readOutputForm(mapOf({ classification }), 'y')).toThrow(invalid(message));
  });

  it('tells how many classes are wanted, and refuses them in shared memory', () => {
    expect(readOutputForm(mapOf({ classification: size }), 'y').classes).toBe(64);
    const both = mapOf({ classification: size, shared_memory_region: string, shared_memory_byte_size: size });
    expect(() => readOutputForm(both, 'y')).toThrow(
      invalid("output can't set both 'shared_memory_region' and 'classification'"),
    );
  });
});
