import { describe, expect, it, onTestFinished } from 'vitest';
import { floats, SharedMemoryObject } from '../../../test/support/shared-memory.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { loadMapRegion } from './mapped-region.js';
import { RequestSharedMemory } from './request-shared-memory.js';
import { SharedMemoryRegistry } from './shared-memory-registry.js';

const mapRegion = await loadMapRegion();

function given() {
  const object = new SharedMemoryObject(4096, floats(1, 2));
  const regions = new SharedMemoryRegistry({ allowed: true, mapRegion });
  regions.register({ name: 'r', key: object.key, offset: 0, byteSize: 4096 });
  onTestFinished(() => regions.close());
  return { object, regions, memory: new RequestSharedMemory(regions) };
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
    const { outputs } = memory.deliver(response(output('y', 5, 6), output('z', 7)));
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
    expect(() => memory.deliver(response(output('y', 5, 6)))).toThrow(
      "shared memory size specified with the request for output 'y' (4 bytes) should be at least 8 bytes to hold the results",
    );
    expect(object.read().subarray(16, 24)).toEqual(Buffer.alloc(8));
  });

  it('reads numbers where they are and BYTES, whose lengths were checked, as they were', () => {
    const { object, memory } = given();
    const reference = { region: 'r', offset: 0, byteSize: 4 };
    const numbers = memory.input(reference, 'FP32');
    const strings = memory.input(reference, 'BYTES');
    object.write(floats(9));
    expect(Buffer.from(numbers)).toEqual(Buffer.from(floats(9)));
    expect(Buffer.from(strings)).toEqual(Buffer.from(floats(1)));
  });

  it('reads what a cached answer is found by as it was', () => {
    const { object, memory } = given();
    memory.copiesInputs = true;
    const numbers = memory.input({ region: 'r', offset: 0, byteSize: 4 }, 'FP32');
    object.write(floats(9));
    expect(Buffer.from(numbers)).toEqual(Buffer.from(floats(1)));
  });

  it('is in use until it is released', () => {
    const { regions, memory } = given();
    memory.input({ region: 'r', offset: 0, byteSize: 4 }, 'FP32');
    memory.output('y', { region: 'r', offset: 0, byteSize: 4 });
    memory.output('y', { region: 'r', offset: 8, byteSize: 4 });
    regions.unregister('r');
    expect(regions.regions()).toHaveLength(1);
    memory.release();
    expect(regions.regions()).toHaveLength(0);
  });
});
