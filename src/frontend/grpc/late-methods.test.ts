import { describe, expect, it, vi } from 'vitest';

import { TritonError } from '../../errors.js';
import { callHead } from './grpc-call.js';
import { LateMethods } from './late-methods.js';
import type { AnswerStream, StreamHandler, StreamMethod } from './stream-call.js';
import type { UnaryAnswer, UnaryMethod } from './unary-call.js';

const CALL = callHead({ path: '', header: () => undefined, rawHeaders: [] });
const MESSAGE = Buffer.from('message');

function answerOf() {
  return { succeed: vi.fn<UnaryAnswer['succeed']>(), fail: vi.fn<UnaryAnswer['fail']>() };
}

function streamOf() {
  const stream = {
    hold: vi.fn<AnswerStream['hold']>(),
    resume: vi.fn<AnswerStream['resume']>(),
    finish: vi.fn<AnswerStream['finish']>(),
    fail: vi.fn<AnswerStream['fail']>(),
  };
  return { ...stream, stream: stream as unknown as AnswerStream };
}

const echo: UnaryMethod = {
  waits: false,
  serve(message, answer) {
    answer.succeed([message]);
    return undefined;
  },
};

function echoStream() {
  const handler = {
    message: vi.fn<StreamHandler['message']>(),
    halfClosed: vi.fn<StreamHandler['halfClosed']>(),
    cancel: vi.fn<StreamHandler['cancel']>(),
    drain: vi.fn<StreamHandler['drain']>(),
  };
  const open = vi.fn<StreamMethod['open']>(() => handler);
  return { handler, open };
}

describe('a unary method that comes late', () => {
  it('is imported by its first call, once', async () => {
    const importing = vi.fn<() => Promise<{ readonly echo: UnaryMethod }>>(async () => ({ echo }));
    const method = new LateMethods(importing).unary((methods) => methods.echo);
    expect(importing).not.toHaveBeenCalled();

    const first = answerOf();
    method.serve(MESSAGE, first, CALL);
    await vi.waitFor(() => expect(first.succeed).toHaveBeenCalledExactlyOnceWith([MESSAGE]));
    const second = answerOf();
    method.serve(MESSAGE, second, CALL);
    expect(second.succeed).toHaveBeenCalledExactlyOnceWith([MESSAGE]);
    expect(importing).toHaveBeenCalledTimes(1);
  });

  it('fails with what it throws', async () => {
    const error = new TritonError('NOT_FOUND', 'no such model');
    const refusing: UnaryMethod = {
      waits: false,
      serve() {
        throw error;
      },
    };
    const answer = answerOf();
    new LateMethods(async () => ({ refusing })).unary((methods) => methods.refusing).serve(MESSAGE, answer, CALL);
    await vi.waitFor(() => expect(answer.fail).toHaveBeenCalledExactlyOnceWith(error));
    expect(answer.succeed).not.toHaveBeenCalled();
  });

  it('fails when its module cannot be imported, and is imported again by the next call', async () => {
    const importing = vi
      .fn<() => Promise<{ readonly echo: UnaryMethod }>>(async () => ({ echo }))
      .mockRejectedValueOnce(new Error('no such file'));
    const method = new LateMethods(importing).unary((methods) => methods.echo);
    const [first, second] = [answerOf(), answerOf()];
    method.serve(MESSAGE, first, CALL);
    await vi.waitFor(() =>
      expect(first.fail).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'no such file' })),
    );
    method.serve(MESSAGE, second, CALL);
    await vi.waitFor(() => expect(second.succeed).toHaveBeenCalledTimes(1));
  });
});

describe('a stream method that comes late', () => {
  it('is given messages once it is there', async () => {
    const { handler, open } = echoStream();
    const method = new LateMethods(async () => ({ echo: { open } })).stream((methods) => methods.echo);
    const { stream, hold, resume } = streamOf();
    const opened = method.open(stream);
    expect(hold).toHaveBeenCalledTimes(1);
    expect(open).not.toHaveBeenCalled();

    await vi.waitFor(() => expect(resume).toHaveBeenCalledTimes(1));
    expect(open).toHaveBeenCalledExactlyOnceWith(stream);
    opened.message(MESSAGE);
    expect(handler.message).toHaveBeenCalledExactlyOnceWith(MESSAGE);
    opened.halfClosed();
    expect(handler.halfClosed).toHaveBeenCalledTimes(1);
    opened.drain();
    expect(handler.drain).toHaveBeenCalledTimes(1);
    opened.cancel();
    expect(handler.cancel).toHaveBeenCalledTimes(1);

    const later = streamOf();
    expect(method.open(later.stream)).toBe(handler);
    expect(later.hold).not.toHaveBeenCalled();
  });

  it.each(['cancel', 'drain'] as const)('is not opened any more after %s', async (end) => {
    let imported!: (methods: { echo: StreamMethod }) => void;
    const importing = new Promise<{ echo: StreamMethod }>((resolve) => (imported = resolve));
    const { open } = echoStream();
    const late = new LateMethods(() => importing);
    const { stream, finish, resume } = streamOf();
    late
      .stream((methods) => methods.echo)
      .open(stream)
      [end]();
    expect(finish).toHaveBeenCalledTimes(end === 'drain' ? 1 : 0);
    imported({ echo: { open } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(open).not.toHaveBeenCalled();
    expect(resume).not.toHaveBeenCalled();
  });

  it('fails when its module cannot be imported', async () => {
    const late = new LateMethods<{ echo: StreamMethod }>(async () => {
      throw new Error('no such file');
    });
    const { stream, fail } = streamOf();
    late.stream((methods) => methods.echo).open(stream);
    await vi.waitFor(() =>
      expect(fail).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'no such file' })),
    );
  });
});
