import { describe, expect, it, vi } from 'vitest';

import { TritonError } from '../errors.js';
import type { InferTensor } from '../model/exchange.js';
import type { ModelCall, ModelCaller } from '../model/model-calls.js';
import { ChannelCallee, ChannelCaller } from './channel-calls.js';
import {
  CALL,
  CALL_TAKEN,
  CALLED,
  CANCEL_CALL,
  type CallMessage,
  type HostChannel,
  type ToInstance,
} from './messages.js';

/** Both ends, with messages as they would come out of a port. */
function connected(caller: ModelCaller) {
  const asked: ToInstance[] = [];
  const answered = vi.fn<(count: number) => void>();
  const ends = { onMessage: () => undefined, onClose: () => undefined, close: () => undefined, now: () => 0 };
  const host = new ChannelCaller({
    ...ends,
    post(message, memory = []) {
      const received = structuredClone(message, { transfer: [...memory] });
      asked.push(received);
      if (received[0] === CALL) callee.perform(received, caller);
      else if (received[0] === CANCEL_CALL) callee.cancel(received);
      else if (received[0] === CALL_TAKEN) callee.taken(received);
    },
  } satisfies HostChannel);
  const callee = new ChannelCallee({
    ...ends,
    post(message, memory = []) {
      const received = structuredClone(message, { transfer: [...memory] });
      if (received[0] !== CALLED) return;
      answered(received[1].length);
      host.answered(received);
    },
  });
  const calls = () => asked.filter((message): message is CallMessage => message[0] === CALL);
  return { host, asked, calls, answers: () => answered.mock.calls.map(([count]) => count) };
}

function callOf(modelName: string, more: Partial<ModelCall> = {}): ModelCall {
  const inputs: InferTensor[] = [{ name: 'x', datatype: 'UINT8', shape: [1], bytes: Uint8Array.of(modelName.length) }];
  const urgency = { priority: 0, timeoutMicroseconds: 0 };
  return { modelName, modelVersion: '', parameters: undefined, inputs, outputs: [], callers: [], ...urgency, ...more };
}

const echo: ModelCaller = ({ modelName, inputs }, sink) => {
  if (modelName === 'failing') sink.failed(new TritonError('UNAVAILABLE', 'not now'));
  else sink.answered(inputs);
  return () => undefined;
};

/** The outcome of a call. */
function called({ call }: ChannelCaller, request: ModelCall): Promise<readonly InferTensor[]> {
  return new Promise((answered, failed) => call(request, { answered, failed }));
}

describe('calls of other models across a channel', () => {
  it('cross in one message when one turn makes them, and so do their answers', async () => {
    const { host, calls, answers } = connected(echo);
    const outcomes = await Promise.allSettled(
      ['a', 'failing', 'ccc'].map(async (name) => {
        // Some promises later, and still in the same turn.
        for (let i = 0; i < name.length; i++) await Promise.resolve();
        return called(host, callOf(name));
      }),
    );
    expect(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value[0]!.bytes[0] : outcome.status)),
    ).toEqual([1, 'rejected', 3]);
    expect(calls().map(([, heads]) => heads.map(([modelName]) => modelName))).toEqual([['a', 'ccc', 'failing']]);
    expect(answers()).toEqual([3]);
  });

  it('go on when one of the turn has parameters that cannot be sent', async () => {
    const { host } = connected(echo);
    const parameters = { odd: () => undefined } as never;
    const [good, bad, other] = await Promise.allSettled(
      [callOf('a'), callOf('bb', { parameters }), callOf('ccc')].map((call) => called(host, call)),
    );
    expect([good!.status, bad!.status, other!.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(good).toMatchObject({ value: [{ bytes: Uint8Array.of(1) }] });
  });

  it('are cancelled behind the message that makes them', async () => {
    const { host, asked } = connected((_, sink) => () => sink.failed(new TritonError('CANCELLED', 'called off')));
    const failed = vi.fn<(error: TritonError) => void>();
    const cancel = host.call(callOf('waiting'), { answered: () => expect.unreachable(), failed });
    cancel();
    await vi.waitFor(() => expect(failed).toHaveBeenCalledOnce());
    expect(failed.mock.calls[0]![0]).toMatchObject({ code: 'CANCELLED', message: 'called off' });
    cancel();
    expect(asked.map(([kind]) => kind)).toEqual([CALL, CANCEL_CALL]);
  });
});
