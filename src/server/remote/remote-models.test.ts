import { expect, it, vi } from 'vitest';

import type { AnswerStream } from '../../frontend/grpc/stream-call.js';
import { type Deferred, deferred } from '../../lifecycle/deferred.js';
import { declaredModel } from '../../link/stream/declared-model.js';
import {
  type BinderMessage,
  LINK_METHOD,
  LINK_PROTOCOL,
  LINK_TOKEN_HEADER,
  type ServerMessage,
} from '../../link/stream/link-messages.js';
import { decodeMessage, encodeMessage } from '../../link/stream/stream-message.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { MESSAGE_PREFIX_BYTES } from '../../protocol/grpc/message-frame.js';
import { SILENT } from '../../core/engine-logger.js';
import { RemoteModels } from './remote-models.js';

/** A process with a link; `received` has what the server says to it. */
function linkOf(models: RemoteModels) {
  const received: ServerMessage[] = [];
  const stream: AnswerStream = {
    head: { header: (name: string) => (name === LINK_TOKEN_HEADER ? 'token' : undefined) } as never,
    room: undefined,
    send: (pieces) => {
      received.push(decodeMessage(Buffer.concat(pieces).subarray(MESSAGE_PREFIX_BYTES)).value as ServerMessage);
    },
    hold: () => undefined,
    resume: () => undefined,
    keep: () => true,
    finish: () => undefined,
    fail: () => undefined,
  };
  const handler = models.methods.get(LINK_METHOD)!.open(stream);
  const say = (value: BinderMessage) => handler.message(Buffer.concat(encodeMessage({ channel: 0, value })));
  say({ kind: 'hello', protocol: LINK_PROTOCOL, version: '1' });
  const bind = (maxBatchSize = 4) => {
    const config = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {}, config: { maxBatchSize } }, 1);
    say({ kind: 'bind', model: 7, declared: declaredModel(config), instances: 1 });
  };
  return { received, handler, bind };
}

/** The models of a server that loads nothing before a client asks for it. `loads` has its loads under way. */
function start() {
  const loads: Deferred[] = [];
  const server = {
    logger: SILENT,
    maxMessageBytes: 1 << 20,
    load: () => {
      const load = deferred();
      loads.push(load);
      return load.promise;
    },
    unload: vi.fn<() => Promise<void>>(async () => undefined),
    retired: async () => undefined,
    has: () => false,
    isIdle: () => true,
  };
  return { models: new RemoteModels(server, 'token'), loads };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('binds no model of a process that has left while its bind waited for another one', async () => {
  const { models, loads } = start();
  const [first, second, third] = [linkOf(models), linkOf(models), linkOf(models)];
  first.bind();
  second.bind();
  await turn();
  second.handler.cancel();
  loads[0]!.resolve();
  await turn();
  first.handler.cancel();
  // Nobody has bound it any more, so that another declaration is welcome.
  third.bind(8);
  await turn();
  expect(loads).toHaveLength(2);
  loads[1]!.resolve();
  await turn();
  expect(third.received.filter(({ kind }) => kind === 'bound')).toEqual([{ kind: 'bound', model: 7 }]);
});
