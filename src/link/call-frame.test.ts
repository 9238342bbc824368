import { describe, expect, it } from 'vitest';

import type { InferTensor } from '../model/exchange.js';
import type { ModelCall } from '../model/model-calls.js';
import { packCalls, packTensors, type SentCall, type TensorList, unpackCalls, unpackTensors } from './call-frame.js';
import type { CallMessage, SentTensors } from './messages.js';

/** Tensors of UINT8 with these lengths, each filled with its index plus `first`. */
function tensors(lengths: readonly number[], first = 1): InferTensor[] {
  return lengths.map((length, index) => ({
    name: `t${index}`,
    datatype: 'UINT8',
    shape: [length],
    bytes: new Uint8Array(length).fill(first + index),
  }));
}

/** The lists that come out of a port at the other end. */
function received(lists: readonly TensorList[], owned: boolean): TensorList[] {
  const packed = packTensors(lists, { owned });
  return unpackTensors(structuredClone(packed, { transfer: packed[1] as ArrayBuffer[] }) as SentTensors);
}

const LENGTHS = [0, 1, 7, 8, 9, 4096, 4097, 3, 100_000, 5000, 4095, 4096, 4096, 4096, 11];

describe('packed tensors', () => {
  it.each([true, false])('are apart from each other, and aligned, with owned: %s', (owned) => {
    const arrived = received([tensors(LENGTHS), undefined, [], tensors([3, 9000], 40)], owned);
    expect(arrived).toEqual([tensors(LENGTHS), undefined, [], tensors([3, 9000], 40)]);
    for (const { bytes } of arrived.flatMap((list) => list ?? [])) expect(bytes.byteOffset % 8).toBe(0);
  });

  it('keep names and datatypes that differ from list to list', () => {
    const lists = [
      [tensor('x', 'FP32', [1], 4), tensor('y', 'INT64', [], 8)],
      [tensor('y', 'INT64', [], 8), tensor('x', 'FP32', [1], 4)],
      [tensor('x', 'INT32', [1, 1, 1], 4)],
    ];
    expect(received(lists, true)).toEqual(lists);
  });

  it('take one buffer, when they are small', () => {
    expect(packTensors([tensors([64, 64]), tensors([64, 64])], { owned: false })[1]).toHaveLength(1);
  });

  it('are handed over when they are large and owned, and copied when others may share them', () => {
    const given = tensors([10_000]);
    expect(packTensors([given], { owned: true })[1][1]).toBe(given[0]!.bytes.buffer);
    const part = { ...given[0]!, bytes: given[0]!.bytes.subarray(1) };
    expect(packTensors([[part]], { owned: true })[1][1]!.byteLength).toBe(9999);
    const copied = packTensors([given], { owned: false });
    given[0]!.bytes.fill(9);
    expect(unpackTensors(copied)[0]![0]!.bytes[9999]).toBe(1);
  });
});

describe('packed calls', () => {
  it('have one head when they differ in their inputs alone', () => {
    const shared = { callers: ['outer'], outputs: [] };
    const calls = [1, 2, 3].map((id) => called(id, { ...shared, inputs: tensors([8], id) }));
    expect(packCalls(calls)[1]).toHaveLength(1);
    expect(crossed(calls)).toEqual(calls);
  });

  it('keep everything in which they differ', () => {
    const calls = [
      called(7, {}),
      called(8, { modelName: 'other' }),
      called(9, { modelVersion: '2' }),
      called(10, { callers: ['a', 'b'] }),
      called(11, { outputs: ['y'] }),
      called(12, { priority: 1 }),
      called(13, { timeoutMicroseconds: 5 }),
      called(14, { parameters: { a: 1n, b: 'x', c: true } }),
      called(15, { traceContext: { traceparent: '00-1-2-01', tracestate: '' } }),
      { ...called(16, {}), streams: true },
      called(17, {}),
    ];
    expect(crossed(calls)).toEqual(calls);
  });
});

function tensor(name: string, datatype: InferTensor['datatype'], shape: number[], length: number): InferTensor {
  return { name, datatype, shape, bytes: new Uint8Array(length).fill(length) };
}

function called(id: number, more: Partial<ModelCall>): SentCall {
  const call = { modelName: 'm', modelVersion: '', parameters: undefined, inputs: [], outputs: [], callers: [] };
  const rest = { priority: 0, timeoutMicroseconds: 0, traceContext: undefined };
  return { id, call: { ...call, ...rest, ...more }, streams: false };
}

function crossed(calls: readonly SentCall[]): SentCall[] {
  const message = packCalls(calls);
  return unpackCalls(structuredClone(message, { transfer: message[3][1] as ArrayBuffer[] }) as CallMessage);
}
