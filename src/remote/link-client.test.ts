import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { MessageChannel } from 'node:worker_threads';

import { afterEach, expect, it, vi } from 'vitest';

import { parseUrl } from '../client/parse-url.js';
import { type Deferred, deferred } from '../lifecycle/deferred.js';
import { type BinderMessage, LINK_PROTOCOL, type ServerMessage } from '../link/stream/link-messages.js';
import { decodeMessage, encodeMessage } from '../link/stream/stream-message.js';
import { completeModelConfig } from '../model/complete-model.js';
import { MESSAGE_PREFIX_BYTES, writePrefix } from '../protocol/grpc/message-frame.js';
import { type HostedOpening, LinkClient, type LinkHost } from './link-client.js';

const CONFIG = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, 1);
const WELCOME = { kind: 'welcome', protocol: LINK_PROTOCOL, version: '1', maxMessageBytes: 1e6, key: 'k' } as const;

function framed(message: ServerMessage): Buffer {
  const pieces = encodeMessage({ channel: 0, value: message }, MESSAGE_PREFIX_BYTES);
  writePrefix(pieces);
  return Buffer.concat(pieces);
}

/** A link, as the server of the test has it. */
class ServedLink {
  readonly stream: ServerHttp2Stream;
  readonly received: BinderMessage[] = [];

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream;
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    let left = Buffer.alloc(0);
    stream.on('data', (bytes: Buffer) => {
      left = Buffer.concat([left, bytes]);
      while (left.length >= MESSAGE_PREFIX_BYTES) {
        const end = MESSAGE_PREFIX_BYTES + left.readUInt32BE(1);
        if (left.length < end) break;
        this.received.push(decodeMessage(left.subarray(MESSAGE_PREFIX_BYTES, end)).value as BinderMessage);
        left = left.subarray(end);
      }
    });
  }

  send(message: ServerMessage): void {
    this.stream.write(framed(message));
  }
}

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A server of links; `onLink` gets each of them with its number. */
async function serve(onLink: (link: ServedLink, number: number) => void) {
  const links: ServedLink[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream: ServerHttp2Stream) => {
    const link = new ServedLink(stream);
    onLink(link, links.push(link));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const session of sessions) session.destroy();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return { links, url: `grpc://127.0.0.1:${port}` };
}

/** A client of links whose host opens models when the test says so. */
function clientOf(url: string) {
  const opens: (Deferred & { readonly opening: HostedOpening; readonly isPortClosed: () => boolean })[] = [];
  const host = {
    open: async () => {
      const { port1, port2 } = new MessageChannel();
      let isClosed = false;
      port2.on('close', () => (isClosed = true));
      const opening = { number: opens.length, ports: [{ port: port1, thread: undefined }] };
      const open = { ...deferred(), opening, isPortClosed: () => isClosed };
      opens.push(open);
      await open.promise;
      return opening;
    },
    tls: async () => ({}),
    close: vi.fn<LinkHost['close']>(async () => undefined),
    endInstance: vi.fn<LinkHost['endInstance']>(),
    ready: vi.fn<LinkHost['ready']>(),
    linked: vi.fn<LinkHost['linked']>(),
    failed: vi.fn<LinkHost['failed']>(),
  };
  const client = new LinkClient({ server: parseUrl(url), accessToken: 't' }, 10_000, host);
  cleanups.push(() => client.stop(0));
  return { client, host, opens };
}

/** A client whose host opens model 7 for the server, which calls that opening 1. */
async function opening() {
  const { links, url } = await serve((link) => {
    link.send(WELCOME);
  });
  const { client, host, opens } = clientOf(url);
  await client.connect();
  void client.bind(7, CONFIG).catch(() => undefined);
  links[0]!.send({ kind: 'open', model: 7, opening: 1 });
  await expect.poll(() => opens.length).toBe(1);
  return { link: links[0]!, host, open: opens[0]! };
}

it('links again where the welcome and the end of the link come in one read', async () => {
  const { links, url } = await serve(({ stream }, number) => {
    if (number === 1) stream.end(framed(WELCOME));
    else stream.write(framed(WELCOME));
  });
  const { client } = clientOf(url);
  await client.connect();
  expect(links).toHaveLength(2);
});

it('closes an opening that the server has closed while the host still opened it', async () => {
  const { link, host, open } = await opening();
  link.send({ kind: 'close', opening: 1 });
  // Behind the word that closes it.
  link.send({ kind: 'readiness', model: 7, isReady: false });
  await expect.poll(() => host.ready.mock.calls.length).toBe(1);
  open.resolve();
  await expect.poll(() => host.close.mock.calls).toEqual([[0]]);
  expect(link.received.map(({ kind }) => kind)).not.toContain('opened');
});

it('closes an opening whose link was lost while the host still opened it', async () => {
  const { link, host, open } = await opening();
  link.stream.close();
  await expect.poll(() => host.linked.mock.calls.length).toBe(1);
  open.resolve();
  await expect.poll(() => host.close.mock.calls).toEqual([[0]]);
  await expect.poll(() => open.isPortClosed()).toBe(true);
});
