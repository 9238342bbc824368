import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';

import { expect, it } from 'vitest';

import { CANCEL, DIRECT } from '../link/messages.js';
import { LinkInstance } from './link-instance.js';

it('hands on no message of the server that names a module: the callable would run its code', async () => {
  const { port1, port2 } = new MessageChannel();
  const instance = new LinkInstance({
    channel: 1,
    instance: { port: port1, thread: undefined },
    direct: undefined,
    send: () => undefined,
    onClosed: () => undefined,
    onLost: () => undefined,
  });
  const seen: unknown[] = [];
  port2.on('message', (message) => seen.push(message));
  expect(() => instance.receive([DIRECT, 'data:text/javascript,export const openDirect = () => {}', {}])).toThrow(
    'a message of the link is malformed: it names a module',
  );
  instance.receive([CANCEL, 7, 0]);
  await once(port2, 'message');
  expect(seen).toEqual([[CANCEL, 7, 0]]);
  instance.close();
});
