// What a process that has the token, and does not keep to the messages, may send: nothing of it reaches an instance.
import { describe, expect, it, vi } from 'vitest';

import { wireTensor } from '../../../test/support/infer-requests.js';
import { describeResult, executionRequest } from '../../../test/support/instances.js';
import type { ExecutionResult, ExecutionTimes } from '../../core/instance/model-instance.js';
import { completeModelConfig } from '../../model/complete-model.js';
import type { ModelCaller } from '../../model/model-calls.js';
import type { ModelConfig } from '../../model/model-config.js';
import { ChannelInstance } from '../channel-instance.js';
import { CALL, CALL_TAKEN, RESPONSES, RESULTS, type ToHost } from '../messages.js';
import { RemoteChannel } from './remote-channel.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] }, t: { dtype: 'string', shape: [-1] } },
} as const;

function linked(given: ModelConfig = {}) {
  const config = completeModelConfig({ modelName: 'm', ...SPEC, config: given }, 1);
  const sent: ToHost[] = [];
  const channel = new RemoteChannel({ config, send: (message) => void sent.push(message), onClosed: () => undefined });
  const instance = new ChannelInstance(config, channel);
  const outcomes: string[] = [];
  let times: ExecutionTimes | undefined;
  const batch = [executionRequest([wireTensor('x', 'float32', Float32Array.of(1), [1, 1])])];
  const stream = { respond: () => undefined, end: () => undefined, recordMetrics: () => undefined };
  const done = (results: readonly ExecutionResult[], took: ExecutionTimes) => {
    times = took;
    outcomes.push(...results.map(describeResult));
  };
  instance.execute(batch, done, given.decoupled === true ? stream : undefined);
  instance.flush();
  return { channel, instance, sent, outcomes, times: () => times };
}

/** A frame of results: numbers, and bytes behind them. */
function frame(numbers: readonly number[], bytes: readonly number[] = []): ArrayBuffer {
  const all = new ArrayBuffer(numbers.length * 8 + bytes.length);
  new Float64Array(all, 0, numbers.length).set(numbers);
  new Uint8Array(all, numbers.length * 8).set(bytes);
  return all;
}

/** One request with the output `y` of one element. */
const GOOD = frame([8, 1, 0, 2, 1, 1, 0, 4], [0, 0, 0x80, 0x3f]);

/** The header of one list with one input: of the first kind, rank 1, a dimension of 1, in the frame, at 0, with 4 bytes. */
const INPUT: readonly number[] = [9, 1, 1, 0, 1, 1, 0, 0, 4];

describe('calls from another process', () => {
  it('reach the server', () => {
    const { channel, instance } = linked();
    const caller = vi.fn<ModelCaller>(() => () => undefined);
    instance.caller = caller;
    channel.receive(calls({}));
    expect(caller.mock.calls.map(([call]) => call)).toEqual([
      {
        modelName: 'n',
        modelVersion: '',
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1], bytes: new Uint8Array(4) }],
        outputs: [],
        callers: [],
        priority: 0,
        timeoutMicroseconds: 0,
      },
    ]);
  });
});

describe('results from another process', () => {
  it('reach the instance, with the times of the other clock as durations', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
    try {
      const { channel, outcomes, times } = linked();
      now.mockReturnValue(1010);
      channel.receive([RESULTS, [[0, GOOD, undefined, 5, 3]]]);
      expect(outcomes).toEqual(['y FP32 [1,1] 1']);
      expect(times()).toMatchObject({ computeInput: 5, computeInfer: 3, computeOutput: 2 });
    } finally {
      now.mockRestore();
    }
  });

  it.each<[string, unknown]>([
    ['no list', 7],
    ['an unknown kind', [99, []]],
    ['no results', [RESULTS]],
    ['an execution that does not run', [RESULTS, [[1, GOOD, undefined, 1, 1]]]],
    ['an execution twice', [RESULTS, [[0, GOOD, undefined, 1, 1], [0, GOOD, undefined, 1, 1]]]],
    ['an id that is no number', [RESULTS, [['__proto__', GOOD, undefined, 1, 1]]]],
    ['a frame that is none', [RESULTS, [[0, 'frame', undefined, 1, 1]]]],
    ['an empty frame', [RESULTS, [[0, new ArrayBuffer(0), undefined, 1, 1]]]],
    ['a header beyond the frame', [RESULTS, [[0, frame([1e9]), undefined, 1, 1]]]],
    ['a header that is NaN', [RESULTS, [[0, frame([NaN]), undefined, 1, 1]]]],
    ['an output that is not declared', [RESULTS, [[0, frame([8, 1, 2, 2, 1, 1, 0, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['an output twice', [RESULTS, [[0, frame([14, 2, 0, 2, 1, 1, 0, 4, 0, 2, 1, 1, 0, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['a tensor outside its frame', [RESULTS, [[0, frame([8, 1, 0, 2, 1, 1, 8, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['a negative offset', [RESULTS, [[0, frame([8, 1, 0, 2, 1, 1, -8, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['bytes that do not fit the shape', [RESULTS, [[0, frame([8, 1, 0, 2, 1, 9, 0, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['a rank without end', [RESULTS, [[0, frame([8, 1, 0, 1e6, 1, 1, 0, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['strings that do not end', [RESULTS, [[0, frame([8, 1, 1, 2, 1, 1, 0, 4], [9, 0, 0, 0]), undefined, 1, 1]]]],
    ['fewer strings than the shape has', [RESULTS, [[0, frame([8, 1, 1, 2, 1, 2, 0, 4], [0, 0, 0, 0]), undefined, 1, 1]]]],
    ['a failure without an error', [RESULTS, [[0, frame([2, -1]), undefined, 1, 1]]]],
    ['a request that is to run again', [RESULTS, [[0, frame([2, -2]), undefined, 1, 1]]]],
    ['a failed batch without an error', [RESULTS, [[0, undefined, [], 1, 1]]]],
    ['an error with an unknown code', [RESULTS, [[0, undefined, [['OUCH', 'x']], 1, 1]]]],
    ['an error without a text', [RESULTS, [[0, undefined, [['INTERNAL', 7]], 1, 1]]]],
    ['a negative time', [RESULTS, [[0, GOOD, undefined, -1, 1]]]],
    ['a time that is no number', [RESULTS, [[0, GOOD, undefined, 'now', 1]]]],
    ['parameters that are objects', [RESULTS, [[0, GOOD, undefined, 1, 1, [{ a: {} }]]]]],
    ['metrics that are none', [RESULTS, [], [{ metric: { kind: 'counter', name: 'nv_x', help: 'x', labels: [] }, series: [] }]]],
    ['a counter that falls', [RESULTS, [], [{ metric: { kind: 'counter', name: 'x', help: 'x', labels: [] }, series: [{ labels: [], added: -1 }] }]]],
    ['a histogram without end', [RESULTS, [], [{ metric: { kind: 'histogram', name: 'x', help: 'x', labels: [], buckets: [1] }, series: [{ labels: [], added: 1, counts: [1, 2, 3] }] }]]],
    ['a stream of a model that answers once', [RESPONSES, 0, new ArrayBuffer(0), [0, -1]]],
    ['a call without a model', calls({ head: [undefined] })],
    ['a call with a head that is not there', calls({ numbers: [0, 1] })],
    ['a call without a head', calls({ numbers: [0] })],
    ['a call without inputs', calls({ inputs: undefined })],
    ['a call without the bytes of its inputs', calls({ inputs: [['x', 'FP32'], []] })],
    ['a call with an unknown datatype', calls({ inputs: [['x', 'toString'], [frame(INPUT, [0, 0, 0, 0])]] })],
    ['a call with an input of a kind that is not there', calls({ inputs: [['x', 'FP32'], [frame(INPUT.with(3, 1), [0, 0, 0, 0])]] })],
    ['a call with a negative dimension', calls({ inputs: [['x', 'FP32'], [frame(INPUT.with(5, -1), [0, 0, 0, 0])]] })],
    ['a call with bytes that are not there', calls({ inputs: [['x', 'FP32'], [frame(INPUT, [0, 0, 0])]] })],
    ['a call with bytes before its frame', calls({ inputs: [['x', 'FP32'], [frame(INPUT.with(7, -8), [0, 0, 0, 0])]] })],
    ['a call with bytes in a buffer that is not there', calls({ inputs: [['x', 'FP32'], [frame(INPUT.with(6, 1), [0, 0, 0, 0])]] })],
    ['more calls than inputs', calls({ numbers: [0, 0, 1, 0] })],
    ['more inputs than calls', calls({ numbers: [] })],
    ['a call that fails before it begins', calls({ inputs: [[], [frame([3, 1, -1], [])]] })],
    ['a call that is under way twice', calls({ numbers: [0, 0, 0, 0] })],
    ['no number of a call', [CALL_TAKEN, 'x']],
  ])('are refused with %s, and nothing is answered', (_, message) => {
    const { channel, outcomes } = linked();
    expect(() => channel.receive(message)).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
    expect(outcomes).toEqual([]);
  }); // prettier-ignore

  it.each<[string, unknown]>([
    ['an answer after the end', [RESPONSES, 0, new ArrayBuffer(0), [0, -1, 0, -1]]],
    ['an answer after the final one', [RESPONSES, 0, new ArrayBuffer(4), [-1, 1, 0, 2, 1, 1, 0, 4, 0, -1]]],
    ['a request that is not there', [RESPONSES, 0, new ArrayBuffer(0), [1, -1]]],
    ['a failure without an error', [RESPONSES, 0, new ArrayBuffer(0), [0, -2]]],
    ['a layout that ends early', [RESPONSES, 0, new ArrayBuffer(4), [0, 1, 0, 2]]],
    ['a layout of texts', [RESPONSES, 0, new ArrayBuffer(4), ['0', '-1']]],
    ['no buffer', [RESPONSES, 0, undefined, [0, -1]]],
  ])('are refused with %s of a stream', (_, message) => {
    const { channel } = linked({ decoupled: true });
    expect(() => channel.receive(message)).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
  });

  it('are refused when a stream does not wait for its reader', () => {
    const { channel } = linked({ decoupled: true });
    const answers = Array.from({ length: 64 }, () => [0, 0]).flat();
    expect(() => {
      for (let i = 0; i < 100; i++) channel.receive([RESPONSES, 0, new ArrayBuffer(0), answers]);
    }).toThrow('a stream does not wait for its reader');
  });

  it('do not count any more when the channel is closed, and its requests fail', async () => {
    const { channel, outcomes } = linked();
    channel.closed();
    await channel.idle();
    await Promise.resolve();
    expect(outcomes).toEqual(["UNAVAILABLE an instance of model 'm' ended while it was working on the request"]);
    expect(() => channel.receive(['nonsense'])).not.toThrow();
  });
});

/** A call of model `n` with the input `INPUT`. */
function calls(more: { readonly head?: unknown; readonly numbers?: unknown; readonly inputs?: unknown }): unknown {
  const good = {
    head: ['n', '', [], [], 0, 0, false],
    numbers: [0, 0],
    inputs: [['x', 'FP32'], [frame(INPUT, [0, 0, 0, 0])]],
  };
  const { head, numbers, inputs } = { ...good, ...more };
  return [CALL, [head], numbers, inputs];
}
