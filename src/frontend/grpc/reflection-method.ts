// Server reflection: each request on the stream is answered in turn.

import { frameMessage } from '../../protocol/grpc/message-frame.js';
import type { Reflection } from '../../protocol/grpc/reflection.js';
import type { AnswerStream, StreamMethod } from './stream-call.js';

export function reflectionMethod(reflection: Reflection): StreamMethod {
  return {
    open: (stream) => ({
      message(bytes) {
        void stream.send([frameMessage(reflection.answer(bytes))]);
        waitForReader(stream);
      },
      halfClosed: () => stream.finish(),
      cancel: () => undefined,
      drain: () => stream.finish(),
    }),
  };
}

/** Takes no further question before the answers so far are taken. */
function waitForReader(stream: AnswerStream): void {
  const { room } = stream;
  if (room === undefined) return;
  stream.hold();
  void room.then(() => stream.resume());
}
