// How connections end: in order (RFC 9113, section 6.8), by time, and by losing the socket.
import { describe, expect, it } from 'vitest';
import { HeaderTemplate } from './outgoing-headers.js';
import { FLAG, FRAME, PREFACE, setting, type RawFrame } from '../../test/support/raw-http2.js';
import { frames, TestedHttp2 } from '../../test/support/tested-http2.js';

const HEAD = new HeaderTemplate([':status', '200']);
const POST = new HeaderTemplate([':method', 'POST', ':scheme', 'http', ':path', '/p']);
const LAST_ID = 0x7fffffff;

function answerTo(ping: string): RawFrame {
  return { type: FRAME.PING, flags: FLAG.ACK, payload: Buffer.from(ping.split(' ')[1]!, 'hex') };
}

function openStreams(client: TestedHttp2, ids: readonly number[]): void {
  for (const id of ids) client.connection.openStream(POST, client.listenerOf({ id }), true);
  client.sent();
}

describe('a server that is to end', () => {
  it('serves what crosses its announcement, then says which stream is the last', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    server.connection.drain();
    server.connection.drain();
    const [goaway, ping, ...none] = server.sent();
    expect([goaway, none]).toEqual([`GOAWAY ${LAST_ID} NO_ERROR`, []]);
    server.send(frames.request(3));
    server.send(answerTo(ping!));
    expect(server.sent()).toEqual(['GOAWAY 3 NO_ERROR']);
    server.told();

    // The peer knows that this one is not served; what it changes in compression still counts.
    const indexed = { ...frames.request(5, true), payload: Buffer.from('838684400161013182'.slice(0, 16), 'hex') };
    server.send({ ...indexed, payload: Buffer.from('8386844001610131', 'hex') }, frames.data(5, 'xxxxx'));
    expect([...server.sent(), ...server.told()]).toEqual([]);
    server.streams.get(1)!.sendHeaders(HEAD, true);
    server.streams.get(3)!.sendHeaders(HEAD, true);
    expect(server.connection.isFinished).toBe(true);
    expect(server.connection.isInOrder).toBe(true);
    expect(server.told()).toEqual(['close 1 in order', 'close 3 in order', 'closed in order']);
    expect(server.sent().filter((frame) => frame.startsWith('GOAWAY'))).toEqual([]);
  });

  it('may announce it long before, and serves what comes until then', () => {
    const server = TestedHttp2.open('server');
    server.connection.announceEnd();
    server.connection.announceEnd();
    expect(server.sent()).toEqual([`GOAWAY ${LAST_ID} NO_ERROR`]);
    server.send(frames.request(1));
    server.streams.get(1)!.sendHeaders(HEAD, true);
    server.sent();
    expect(server.connection.isFinished).toBe(false);
    server.connection.drain();
    const [ping, ...none] = server.sent();
    expect(none).toEqual([]);
    server.send(answerTo(ping!));
    expect(server.sent()).toEqual(['GOAWAY 1 NO_ERROR']);
    expect(server.connection.isFinished).toBe(true);
  });

  it('announces it to a peer that connects later with its first stream, or when it opens none', () => {
    const goaway = `GOAWAY ${LAST_ID} NO_ERROR`;
    const [asking, silent] = [new TestedHttp2('server'), new TestedHttp2('server')];
    for (const one of [asking, silent]) {
      one.connection.announceEnd();
      one.receive(PREFACE);
      one.send({ type: FRAME.SETTINGS }, { type: FRAME.SETTINGS, flags: FLAG.ACK });
      expect(one.sent()).not.toContain(goaway);
    }
    asking.send(frames.request(1), frames.request(3));
    expect(asking.sent()).toEqual([goaway]);
    expect([...asking.streams.keys()]).toEqual([1, 3]);
    for (const now of [0, 1000]) silent.connection.tick(now);
    expect(silent.sent()).toEqual([]);
    silent.connection.tick(1001);
    expect(silent.sent()).toEqual([goaway]);
  });

  it('ends at once when it has no streams and the peer knows', () => {
    const server = TestedHttp2.open('server');
    server.connection.drain();
    const [, ping] = server.sent();
    expect(server.connection.isFinished).toBe(false);
    server.send(answerTo(ping!));
    expect(server.told()).toEqual(['closed in order']);
    expect(server.sent()).toEqual(['GOAWAY 0 NO_ERROR']);
  });

  it('does not wait long for the peer to know', () => {
    const server = TestedHttp2.open('server', { options: { drainTimeout: 1000 } });
    server.connection.drain();
    server.sent();
    server.connection.tick(5000);
    server.connection.tick(5999);
    expect(server.connection.isFinished).toBe(false);
    server.connection.tick(6000);
    expect(server.sent()).toEqual(['GOAWAY 0 NO_ERROR']);
    expect(server.connection.isFinished).toBe(true);
  });

  it('serves the first stream of a peer that has just connected, and what crosses the announcement', () => {
    for (const isRetired of [false, true]) {
      const server = new TestedHttp2('server');
      if (isRetired) server.connection.announceEnd();
      server.connection.drain();
      expect([...server.sent(), server.connection.mayStillAsk]).toEqual([true]);
      server.receive(PREFACE);
      server.send({ type: FRAME.SETTINGS }, { type: FRAME.SETTINGS, flags: FLAG.ACK });
      expect(server.sent().filter((frame) => frame.startsWith('GOAWAY'))).toEqual([]);
      server.send(frames.request(1, true));
      const [goaway, ping] = server.sent();
      expect(goaway).toBe(`GOAWAY ${LAST_ID} NO_ERROR`);
      server.send(frames.request(3, true), answerTo(ping!));
      expect(server.sent()).toEqual(['GOAWAY 3 NO_ERROR']);
      expect(server.connection.mayStillAsk).toBe(false);
      for (const id of [1, 3]) server.streams.get(id)!.sendHeaders(HEAD, true);
      expect([server.connection.isFinished, server.connection.isInOrder]).toEqual([true, true]);
    }
  });

  it('also when the peer has exchanged settings after the end was announced to others', () => {
    const server = new TestedHttp2('server');
    server.connection.announceEnd();
    server.receive(PREFACE);
    server.send({ type: FRAME.SETTINGS }, { type: FRAME.SETTINGS, flags: FLAG.ACK });
    server.sent();
    server.connection.drain();
    expect([...server.sent(), server.connection.mayStillAsk]).toEqual([true]);
    server.send(frames.request(1, true));
    expect(server.sent()[0]).toBe(`GOAWAY ${LAST_ID} NO_ERROR`);
    expect([...server.streams.keys()]).toEqual([1]);
  });

  it('does not wait long for a peer that has said nothing, and ends in the language of HTTP/2', () => {
    const server = new TestedHttp2('server');
    server.connection.drain();
    for (const now of [0, 1000]) server.connection.tick(now);
    expect([...server.sent(), ...server.told()]).toEqual([]);
    server.connection.tick(1001);
    expect(server.sent().map((frame) => frame.split(' ')[0])).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'GOAWAY']);
    expect(server.told()).toEqual(['closed in order']);
    expect(server.connection.mayStillAsk).toBe(false);
  });

  it('does not wait long for a peer that opens no stream', () => {
    const server = new TestedHttp2('server');
    server.connection.drain();
    server.receive(PREFACE);
    server.send({ type: FRAME.SETTINGS }, { type: FRAME.SETTINGS, flags: FLAG.ACK });
    server.sent();
    for (const now of [0, 1001]) server.connection.tick(now);
    const [goaway, ping] = server.sent();
    expect(goaway).toBe(`GOAWAY ${LAST_ID} NO_ERROR`);
    server.send(answerTo(ping!));
    expect(server.sent()).toEqual(['GOAWAY 0 NO_ERROR']);
    expect(server.told().at(-1)).toBe('closed in order');
  });
});

describe('a client that is to end', () => {
  it('opens no more streams, and ends with its last', () => {
    const client = TestedHttp2.open('client');
    openStreams(client, [1]);
    client.connection.drain();
    expect(client.connection.takesStreams).toBe(false);
    expect(client.sent()).toEqual(['GOAWAY 0 NO_ERROR']);
    client.send(frames.headers(1, [[':status', '200']], true));
    expect(client.told().slice(-2)).toEqual(['close 1 in order', 'closed in order']);
  });
});

describe('a peer that is to end', () => {
  it('has not processed the streams after its last, and finishes the others', () => {
    const client = TestedHttp2.open('client');
    openStreams(client, [1, 3, 5]);
    client.send(frames.goaway(3, 0, 'maintenance'));
    expect(client.told()).toEqual(['goaway NO_ERROR maintenance', 'close 5 REFUSED_STREAM']);
    expect(client.connection.canOpenStream).toBe(false);
    client.send(frames.goaway(1, 0));
    expect(client.told()).toEqual(['goaway NO_ERROR', 'close 3 REFUSED_STREAM']);
    client.send(frames.headers(1, [[':status', '200']], true));
    expect(client.told()).toEqual(['headers 1 :status=200', 'end 1', 'close 1 in order', 'closed in order']);
  });

  it('may be a client whose requests are answered still', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1, true), frames.goaway(0, 11, 'x'.repeat(1000)));
    expect(server.told().at(-1)).toBe(`goaway ENHANCE_YOUR_CALM ${'x'.repeat(248 + 8)}`);
    server.streams.get(1)!.sendHeaders(HEAD, true);
    expect(server.sent()).toEqual(['HEADERS 1 END_STREAM :status=200']);
    expect(server.told()).toEqual(['close 1 in order', 'closed in order']);
  });
});

describe('a connection', () => {
  it('that is closed for a reason tells it', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    server.connection.close('ENHANCE_YOUR_CALM', 'too_many_pings');
    expect(server.sent()).toEqual(['GOAWAY 1 ENHANCE_YOUR_CALM']);
    expect(server.told()).toEqual(['stream 1 /p', 'close 1 ENHANCE_YOUR_CALM', 'closed ENHANCE_YOUR_CALM']);
    server.connection.close('NO_ERROR', '');
    server.connection.drain();
    server.connection.ping(() => undefined);
    server.streams.get(1)!.sendHeaders(HEAD, true);
    expect(server.sent()).toEqual([]);
  });

  it('that is lost ends its streams', () => {
    const client = TestedHttp2.open('client');
    openStreams(client, [1, 3]);
    client.connection.lost(new Error('read ECONNRESET'));
    expect(client.told()).toEqual(['close 1 CONNECTION_LOST', 'close 3 CONNECTION_LOST', 'closed CONNECTION_LOST']);
    expect(client.sent()).toEqual([]);
    client.connection.lost();
    expect(client.told()).toEqual([]);
  });

  it('that is closed by the peer without streams has ended in order', () => {
    const server = TestedHttp2.open('server');
    server.connection.lost();
    expect(server.told()).toEqual(['closed in order']);
  });

  it('sends nothing for streams whose listeners react to its end', () => {
    const server = TestedHttp2.open('server', {
      streamListener: () => ({
        onClose: () => {
          for (const stream of server.streams.values()) {
            stream.sendHeaders(HEAD, true);
            stream.reset('CANCEL');
          }
          server.connection.close('NO_ERROR', '');
        },
      }),
    });
    server.send(frames.request(1), frames.request(3), frames.data(0, 'x'));
    expect(server.sent()).toEqual(['GOAWAY 3 PROTOCOL_ERROR']);
    // The second was reset by its user before it was told.
    expect(server.told().slice(2)).toEqual(['close 1 PROTOCOL_ERROR', 'closed PROTOCOL_ERROR']);
  });
});

describe('the time that', () => {
  it('the peer may take for its settings is limited', () => {
    const server = new TestedHttp2('server', { options: { handshakeTimeout: 100 } });
    server.connection.tick(0);
    server.connection.tick(99);
    expect(server.connection.isFinished).toBe(false);
    server.connection.tick(100);
    expect(server.sent().at(-1)).toBe('GOAWAY 0 PROTOCOL_ERROR');
  });

  it('the peer may take to acknowledge ours is limited', () => {
    const server = new TestedHttp2('server', { options: { handshakeTimeout: 100 } });
    server.receive(PREFACE);
    server.connection.tick(0);
    server.send(frames.settings(setting(3, 1)));
    server.connection.tick(100);
    expect(server.sent().at(-1)).toBe('GOAWAY 0 SETTINGS_TIMEOUT');
  });

  it('is limited no more after both', () => {
    const server = TestedHttp2.open('server', { options: { handshakeTimeout: 100 } });
    for (const now of [0, 100, 1e9]) server.connection.tick(now);
    expect(server.connection.isFinished).toBe(false);
  });

  it('there is no stream may be limited', () => {
    const server = TestedHttp2.open('server', { options: { idleTimeout: 100, drainTimeout: 10 } });
    const { connection } = server;
    connection.tick(0);
    server.send(frames.request(1, true));
    connection.tick(100);
    expect(server.sent()).toEqual([]);
    server.streams.get(1)!.sendHeaders(HEAD, true);
    connection.tick(200);
    connection.tick(299);
    expect(server.sent()).toEqual(['HEADERS 1 END_STREAM :status=200']);
    connection.tick(300);
    expect(server.sent()[0]).toBe(`GOAWAY ${LAST_ID} NO_ERROR`);
    connection.tick(301);
    connection.tick(311);
    expect(connection.isInOrder).toBe(true);
  });
});
