import { describe, expect, it, onTestFinished } from 'vitest';
import { floats, SharedMemoryObject } from '../../../test/support/shared-memory.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { finishPaced } from '../../pacing/paced-work.js';
import { RequestSharedMemory } from './request-shared-memory.js';
import { SharedMemoryRegistry } from './shared-memory-registry.js';

function given() {
  const object = new SharedMemoryObject(4096, floats(1, 2));
  const regions = new SharedMemoryRegistry({ allowed: true });
  regions.register({ name: 'r', key: object.key, offset: 0, byteSize: 4096 });
  onTestFinished(() => regions.close());
  return { object, regions, memory: new RequestSharedMemory(regions, (bytes) => Buffer.alloc(bytes)) };
}

function response(...outputs: readonly InferTensor[]): ModelInferResponse {
  return { modelName: 'm', modelVersion: '1', id: '', parameters: undefined, outputs };
}

function output(name: string, ...values: readonly number[]): InferTensor {
  return { name, datatype: 'FP32', shape: [values.length], bytes: floats(...values) };
}

describe('the shared memory of a request', () => {
  it('has the outputs that were asked to go there, and leaves the others', () => {
    const { object, memory } = given();
    memory.output('y', { region: 'r', offset: 16, byteSize: 64 });
    const { outputs } = finishPaced(memory.deliver(response(output('y', 5, 6), output('z', 7))));
    expect(outputs.map(({ name, bytes }) => [name, bytes.byteLength])).toEqual([
      ['y', 0],
      ['z', 4],
    ]);
    expect(outputs[0]!.shape).toEqual([2]);
    expect(object.read().subarray(16, 24)).toEqual(Buffer.from(floats(5, 6)));
  });

  it('fails a response with an output that does not fit, and writes none of it', () => {
    const { object, memory } = given();
    memory.output('y', { region: 'r', offset: 16, byteSize: 4 });
    expect(() => finishPaced(memory.deliver(response(output('y', 5, 6))))).toThrow(
      "shared memory size specified with the request for output 'y' (4 bytes) should be at least 8 bytes to hold the results",
    );
    expect(object.read().subarray(16, 24)).toEqual(Buffer.alloc(8));
  });

  it('reads inputs as they were on arrival', () => {
    const { object, memory } = given();
    const { bytes } = finishPaced(memory.input({ region: 'r', offset: 0, byteSize: 4 }));
    object.write(floats(9));
    object.resize(0);
    expect(Buffer.from(bytes)).toEqual(Buffer.from(floats(1)));
  });

  it('that is large is copied in pieces', () => {
    const size = 9 << 20;
    const content = Buffer.alloc(size, 'abcdefg');
    const object = new SharedMemoryObject(size, content);
    const regions = new SharedMemoryRegistry({ allowed: true });
    regions.register({ name: 'large', key: object.key, offset: 0, byteSize: size });
    onTestFinished(() => regions.close());
    const memory = new RequestSharedMemory(regions, (bytes) => Buffer.alloc(bytes));
    const reading = memory.input({ region: 'large', offset: 0, byteSize: size });
    let pauses = 0;
    let step = reading.next();
    for (; step.done !== true; step = reading.next()) pauses++;
    expect(pauses).toBe(9);
    expect(content.equals(step.value.bytes)).toBe(true);
    expect(step.value.memory).toBe(step.value.bytes.buffer);
    memory.output('y', { region: 'large', offset: 0, byteSize: size });
    const bytes = Buffer.alloc(size, 'xyz');
    const writing = memory.deliver(response({ name: 'y', datatype: 'UINT8', shape: [size], bytes }));
    for (pauses = 0; writing.next().done !== true; pauses++);
    expect(pauses).toBe(9);
    expect(object.read().equals(bytes)).toBe(true);
  });

  it('is in use until it is released', () => {
    const { regions, memory } = given();
    finishPaced(memory.input({ region: 'r', offset: 0, byteSize: 4 }));
    memory.output('y', { region: 'r', offset: 0, byteSize: 4 });
    memory.output('y', { region: 'r', offset: 8, byteSize: 4 });
    regions.unregister('r');
    expect(regions.regions()).toHaveLength(1);
    memory.release();
    expect(regions.regions()).toHaveLength(0);
  });
});
