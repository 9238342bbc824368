import { describe, expect, it } from 'vitest';

import { ByteBudget, type ShareOwner } from '../sockets/byte-budget.js';
import { TestedHttp1, type TestedRequest } from '../../test/support/tested-http1.js';

const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';
const CLOSE = 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';
const CHUNKED = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\n';
const KEPT = 'Connection: keep-alive\r\nKeep-Alive: timeout=620\r\n';
const EMPTY = `${OK}Content-Length: 0\r\n${KEPT}\r\n`;
const LAST = `${OK}Content-Length: 0\r\nConnection: close\r\n\r\n`;

const answered = (tested: TestedRequest) => tested.respond();

function post(body: string, headers = ''): string {
  return `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`;
}

function bodiesOf({ requests }: TestedHttp1): string[] {
  return requests.map(({ body, isWhole }) => (isWhole ? body : `${body}…`));
}

describe('requests', () => {
  it('hold nothing once the connection ends behind an answer, though the head of one more has begun to come', () => {
    const owner = { isStalled: false, evict: () => undefined } as unknown as ShareOwner;
    const share = new ByteBudget(1 << 20).open(owner);
    const tested = new TestedHttp1({ share }).receive(GET, 'GET /', 'next');
    expect(share.bytes).toBeGreaterThan(0);
    tested.connection.closeWhenAnswered();
    tested.requests[0]!.respond();
    expect(tested.turn().connection.isFinished).toBe(true);
    expect([share.bytes, tested.connection.largestUpload(false)]).toEqual([0, undefined]);
  });

  it('are served as they come, in one read or in many', () => {
    const bytes = GET + post('hello') + post('') + CHUNKED + '3\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n' + GET;
    for (const parts of [[bytes], bytes.split(''), bytes.match(/.{1,40}/gs)!]) {
      const tested = new TestedHttp1().receive(...parts);
      expect(bodiesOf(tested)).toEqual(['', 'hello', '', 'abcde', '']);
      for (const one of tested.requests) one.respond();
      expect(tested.turn().sent).toBe(EMPTY.repeat(5));
      expect(tested.connection.isFinished).toBe(false);
    }
  });

  it('may have empty lines before them, and nothing else', () => {
    expect(new TestedHttp1({ onRequest: answered }).receive(`\r\n\r\n${GET}\r`, `\n\r\n${GET}`).statuses).toEqual([
      200, 200,
    ]);
    for (const before of ['\n', '\r', '\r\r\n', ' ', '\0']) {
      expect(new TestedHttp1({ onRequest: answered }).receive(GET + before + GET).statuses).toEqual([200, 400]);
    }
  });

  it('share a head that is byte for byte the same, and no other', () => {
    const tested = new TestedHttp1();
    tested.receive(post('abc'), post('def'), post('gh'), post('abc', 'X: y\r\n'), post('xyz'));
    expect(tested.requests.map(({ request }) => request.header('x'))).toEqual([
      undefined,
      undefined,
      undefined,
      'y',
      undefined,
    ]);
    expect(tested.requests.map(({ body }) => body)).toEqual(['abc', 'def', 'gh', 'abc', 'xyz']);
    const [first, second, third] = tested.requests;
    expect(second!.request.rawHeaders).toBe(first!.request.rawHeaders);
    expect(third!.request.rawHeaders).not.toBe(first!.request.rawHeaders);
  });

  it('keep what they were given when the memory of the socket is used again', () => {
    const tested = new TestedHttp1();
    const [, ...rest] = post('x'.repeat(100)).split('');
    tested.receive('P', rest.join(''), post('a'.repeat(99)), CHUNKED + '2\r\nbb\r\n', '1\r\nc\r\n0\r\n\r\n');
    expect(bodiesOf(tested)).toEqual(['x'.repeat(100), 'a'.repeat(99), 'bbc']);
    expect(tested.requests[0]!.request.rawHeaders).toEqual(['Host', 'h', 'Content-Length', '100']);
  });

  it('with large bodies are received into memory of their own', () => {
    const body = Array.from({ length: 200_000 }, (_, i) => String.fromCharCode(65 + (i % 26))).join('');
    const tested = new TestedHttp1();
    const bytes = post(body) + post('z');
    tested.receive(bytes.slice(0, 50), bytes.slice(50, 60_000), bytes.slice(60_000, 120_000), bytes.slice(120_000));
    expect(bodiesOf(tested).map((got) => got.length)).toEqual([200_000, 1]);
    expect(tested.requests[0]!.body === body).toBe(true);
  });

  it.each([600, 20_000, 65_535, 65_536, 65_537, 100_000])(
    'have bodies of the length that was said, however little comes first: %i bytes',
    (length) => {
      const body = Array.from({ length }, (_, i) => String.fromCharCode(65 + (i % 26))).join('');
      const tested = new TestedHttp1();
      const bytes = post(body);
      const begin = bytes.length - length;
      tested.receive(bytes.slice(0, begin), bytes.slice(begin, begin + 1), bytes.slice(begin + 1) + post('z'));
      expect(bodiesOf(tested).map((got) => got.length)).toEqual([length, 1]);
      expect(tested.requests[0]!.body === body).toBe(true);
    },
  );

  it.each([
    ['of known length', [post('x'.repeat(21))]],
    ['of chunks', [CHUNKED + '14\r\n' + 'x'.repeat(20), '\r\n1\r\nx\r\n0\r\n\r\n']],
  ])('with larger bodies than are wanted are refused, and are the last: %s', (_, parts) => {
    const tested = new TestedHttp1({ limit: 20 }).receive(...parts, GET);
    expect(tested.turn().sent).toMatch(
      /^HTTP\/1\.1 400 [^]*Connection: close[^]*maximum allowed input size of 20 bytes"}$/,
    );
    expect([tested.requests.length, tested.requests[0]!.isWhole, tested.connection.isFinished]).toEqual([
      1,
      false,
      true,
    ]);
  });

  it('whose body nobody reads are answered, and the next one is found behind it', () => {
    const tested = new TestedHttp1({ readsBodies: false, onRequest: answered });
    tested.receive(post('x'.repeat(1000)).slice(0, 200), 'x'.repeat(700), 'x'.repeat(1000), GET);
    expect(tested.statuses).toEqual([200, 400]);
    const other = new TestedHttp1({ readsBodies: false, onRequest: answered });
    expect(other.receive(post('hello') + GET + CHUNKED + '1\r\nx\r\n0\r\n\r\n' + GET).statuses).toEqual([
      200, 200, 200, 200,
    ]);
  });
});

describe('answers', () => {
  it('leave in the order of the requests, whichever is ready first', () => {
    const tested = new TestedHttp1().receive(GET + GET + GET);
    const [first, second, third] = tested.requests;
    third!.respond('3');
    second!.answer.begin(200, []);
    void second!.answer.send(Buffer.from('two'));
    expect(tested.turn().sent).toBe('');
    first!.respond('1');
    expect(tested.turn().sent).toBe(
      `${OK}Content-Length: 1\r\n${KEPT}\r\n1${OK}${KEPT}Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n`,
    );
    second!.answer.end(Buffer.from('!'));
    expect(tested.turn().sent).toBe(`1\r\n!\r\n0\r\n\r\n${OK}Content-Length: 1\r\n${KEPT}\r\n3`);
  });

  it('have no chunk without bytes, which would end them', () => {
    const tested = new TestedHttp1().receive(GET);
    const { answer } = tested.requests[0]!;
    answer.begin(200, []);
    void answer.send(Buffer.alloc(0));
    answer.end(Buffer.alloc(0));
    expect(tested.turn().sent).toBe(`${OK}${KEPT}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
  });

  it('to HEAD, and with 204, have no body', () => {
    const tested = new TestedHttp1({
      onRequest: (one) => one.respond('abc', one.request.method === 'HEAD' ? 200 : 204),
    });
    expect(tested.receive(GET.replace('GET', 'HEAD')).sent).toBe(`${OK}Content-Length: 3\r\n${KEPT}\r\n`);
    expect(tested.receive(GET).sent).toBe(`HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n${KEPT}\r\n`);
  });

  it('have the headers that all answers have, and end the connection where that is asked for', () => {
    const tested: TestedHttp1 = new TestedHttp1({
      onRequest: (one) => {
        one.answer.commonHeaders = ['Vary', 'Origin'];
        tested.connection.closeWhenAnswered();
        one.respond();
      },
    });
    expect(tested.receive(GET + GET).sent).toBe(`${OK}Content-Length: 0\r\nVary: Origin\r\nConnection: close\r\n\r\n`);
    expect([tested.requests.length, tested.connection.isFinished]).toEqual([1, true]);
  });

  it('cannot have headers that would be more than one', () => {
    const tested = new TestedHttp1().receive(GET);
    const { answer } = tested.requests[0]!;
    for (const bad of ['a\r\nb: c', 'a\nb', 'a\0', 'ā']) {
      expect(() => answer.respond(200, ['X', bad], [])).toThrow('a character that none may have');
    }
    expect([answer.begun, tested.turn().sent]).toEqual([false, '']);
    tested.requests[0]!.respond();
    expect(tested.turn().sent).toBe(EMPTY);
  });

  it('to a client that asks for 100-continue come after that, or instead of it', () => {
    const expecting = post('hello', 'Expect: 100-continue\r\n');
    const read = new TestedHttp1({ onRequest: (one) => expect(one.isWhole).toBe(false) });
    expect(read.receive(expecting.slice(0, -5)).sent).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    read.receive('hello').requests[0]!.respond();
    expect(read.turn().sent).toBe(EMPTY);
    const refused = new TestedHttp1({ readsBodies: false, onRequest: answered });
    expect(refused.receive(expecting.slice(0, -5), GET).sent).toBe(LAST);
    expect(refused.connection.isFinished).toBe(true);
    // Behind another request it has to wait for its turn.
    const second = new TestedHttp1();
    expect(second.receive(GET + expecting.slice(0, -5)).sent).toBe('');
    second.requests[0]!.respond();
    expect(second.turn().statuses).toEqual([200, 100]);
  });
});

describe('a client that asks faster than it takes answers', () => {
  it('is not read further than some requests that wait, and then again', () => {
    const tested = new TestedHttp1().receive(GET.repeat(1000));
    const { requests, connection } = tested;
    const bound = requests.length;
    expect([bound < 1000, connection.wantsInput]).toEqual([true, false]);
    requests[1]!.respond();
    expect(tested.turn().requests.length).toBe(bound);
    requests[0]!.respond();
    // It is known by now that answers are small.
    const more = tested.turn().requests.length;
    expect([more > bound + 2, more < 1000]).toEqual([true, true]);
    requests[2]!.respond();
    expect(tested.turn().requests.length).toBe(more + 1);
    expect(connection.wantsInput).toBe(false);
    for (let i = 0; i < 1000; i++) {
      requests[i]!.respond();
      tested.turn();
    }
    expect([requests.length, connection.wantsInput, tested.statuses.length]).toEqual([1000, true, 1000]);
  });

  it('has fewer requests wait the larger its answers are', () => {
    const inFlight = (bytes: number) => {
      const tested = new TestedHttp1().receive(GET.repeat(1000));
      const { requests } = tested;
      const before = requests.length;
      for (let i = 0; i < before; i++) requests[i]!.respond('x'.repeat(bytes));
      tested.turn();
      return requests.length - before;
    };
    expect([10, 1_000_000, 4_000_000].map(inFlight)).toEqual([128, 33, 8]);
  });

  it('is not served while answers wait for one before them, and read only a little', () => {
    const tested = new TestedHttp1().receive(GET.repeat(4));
    tested.requests[1]!.respond('x'.repeat(300_000));
    tested.receive(GET);
    expect([tested.requests.length, tested.connection.wantsInput]).toEqual([4, true]);
    tested.receive(GET.repeat(1000));
    expect([tested.requests.length, tested.connection.wantsInput]).toEqual([4, false]);
    tested.requests[0]!.respond();
    expect(tested.turn().requests.length).toBeGreaterThan(4);
  });

  it('loses nothing of what comes though it is not read', () => {
    const tested = new TestedHttp1().receive(GET.repeat(200), post('a').slice(0, -1), 'b', GET);
    for (let i = 0; i < tested.requests.length; i++) {
      tested.requests[i]!.respond();
      tested.turn();
    }
    expect(bodiesOf(tested).slice(-2)).toEqual(['b', '']);
    expect(tested.statuses.length).toBe(202);
  });

  it('has to take what waits for it before it is read again', () => {
    const tested = new TestedHttp1().receive(GET + GET);
    const { connection } = tested;
    connection.isCongested = true;
    tested.held = 1_000_000;
    tested.receive(GET);
    expect(tested.requests.length).toBe(2);
    tested.held = 0;
    connection.drained();
    expect(tested.turn().requests.length).toBe(3);
    expect(connection.wantsInput).toBe(true);
  });

  it('is read again as soon as all its requests are answered, though nothing else happens then', () => {
    const tested = new TestedHttp1().receive(GET.repeat(16) + post('x'.repeat(20_000)));
    expect(tested.requests.length).toBe(16);
    for (const one of tested.requests.slice()) one.respond('y'.repeat(15_500));
    expect(tested.turn().requests.length).toBe(17);
  });

  it('holds back who sends more, until there is room again or it is gone', async () => {
    const tested = new TestedHttp1().receive(GET + GET);
    const [first, second] = tested.requests.map(({ answer }) => answer);
    for (const answer of [first!, second!]) answer.begin(200, []);
    const part = Buffer.alloc(100_000);
    expect(first!.send(part)).toBeUndefined();
    expect(tested.turn().sent.length).toBeGreaterThan(100_000);
    tested.connection.isCongested = true;
    tested.held = 300_000;
    const told: string[] = [];
    const room = Promise.resolve(first!.send(part)).then(() => told.push('first'));
    expect([second!.send(part), second!.send(part)]).toEqual([undefined, undefined]);
    const behind = Promise.resolve(second!.send(part)).then(() => told.push('second'));
    await Promise.resolve();
    expect(told).toEqual([]);
    tested.held = 0;
    tested.connection.drained();
    await room;
    expect(told).toEqual(['first']);
    tested.connection.lost();
    await behind;
    expect(told).toEqual(['first', 'second']);
  });

  it('takes a stream that is written faster than turns end in pieces', () => {
    const tested = new TestedHttp1().receive(GET);
    const { answer } = tested.requests[0]!;
    answer.begin(200, []);
    for (let i = 0; i < 100; i++) expect(answer.send(Buffer.alloc(10_000))).toBeUndefined();
    // Some of it has been written before the turn was over.
    expect(tested.sent.length).toBeGreaterThan(700_000);
  });
});

describe('the end of a connection', () => {
  it('comes after the answer to a request that asks for it, and nothing else does', () => {
    const tested = new TestedHttp1({ onRequest: answered }).receive(CLOSE + GET);
    expect([tested.sent, tested.requests.length, tested.connection.isFinished]).toEqual([LAST, 1, true]);
    const later = new TestedHttp1().receive(GET + CLOSE + GET);
    later.requests[1]!.respond();
    later.requests[0]!.respond();
    expect([later.turn().sent, later.connection.isFinished]).toEqual([EMPTY + LAST, true]);
  });

  it('comes at once when nothing is under way', () => {
    for (const before of ['', GET]) {
      const tested = new TestedHttp1({ onRequest: answered }).receive(before);
      tested.connection.closeWhenAnswered();
      expect(tested.connection.isFinished).toBe(true);
    }
  });

  it('comes after what is under way, a request that has begun to come included', () => {
    for (const [before, begun, rest] of [
      ['', GET.slice(0, 10), GET.slice(10)],
      [GET, post('hello').slice(0, -2), 'lo'],
      [GET + GET, '', ''],
    ] as const) {
      const tested = new TestedHttp1().receive(before, begun);
      tested.connection.closeWhenAnswered();
      expect(tested.connection.isFinished).toBe(false);
      for (const one of tested.receive(rest, GET).requests) one.respond();
      expect(tested.turn().sent.endsWith(LAST)).toBe(true);
      expect(bodiesOf(tested)).toEqual(before === '' ? [''] : ['', rest === '' ? '' : 'hello']);
      expect(tested.connection.isFinished).toBe(true);
    }
  });

  it('comes after the requests that were held back', () => {
    const tested = new TestedHttp1().receive(GET.repeat(20) + post('hello').slice(0, -2));
    expect(tested.requests.length).toBe(16);
    tested.connection.drain();
    for (let i = 0; i < 20; i++) {
      tested.requests[i]!.respond(String(i));
      tested.turn();
    }
    expect([tested.requests.length, tested.connection.isFinished]).toEqual([21, false]);
    tested.receive('lo' + GET).requests[20]!.respond('last');
    expect(bodiesOf(tested.turn())).toEqual([...Array<string>(20).fill(''), 'hello']);
    expect(tested.sent).toMatch(/19HTTP.*Connection: close\r\n\r\nlast$/s);
    expect([tested.requests.length, tested.connection.isFinished]).toEqual([21, true]);
  });

  it('comes after the next request when the server is about to leave', () => {
    for (const before of ['', GET]) {
      const tested = new TestedHttp1({ onRequest: answered }).receive(before);
      tested.connection.retire();
      expect([tested.sent, tested.connection.isFinished]).toEqual([before === '' ? '' : EMPTY, false]);
      expect([tested.receive(GET).sent, tested.connection.isFinished]).toEqual([LAST, true]);
    }
  });

  it('comes after all requests of a read when the server is about to leave', () => {
    const tested = new TestedHttp1().receive(GET);
    tested.connection.retire();
    tested.receive(GET + post('hello') + GET, GET);
    for (const one of tested.requests) one.respond();
    expect(tested.requests.length).toBe(4);
    expect([tested.turn().sent, tested.connection.isFinished]).toEqual([EMPTY.repeat(3) + LAST, true]);
  });

  it('comes with one more request when an answer under way could not say so', () => {
    const tested = new TestedHttp1().receive(GET);
    const { answer } = tested.requests[0]!;
    answer.begin(200, []);
    tested.connection.drain();
    answer.end();
    expect([tested.turn().connection.isFinished, tested.sent.includes('close')]).toEqual([false, false]);
    tested.receive(GET).requests[1]!.respond();
    expect([tested.turn().sent, tested.connection.isFinished]).toEqual([LAST, true]);
  });

  it('comes after a stream that has begun without saying so', () => {
    const tested = new TestedHttp1().receive(GET);
    const { answer } = tested.requests[0]!;
    answer.begin(200, []);
    tested.connection.closeWhenAnswered();
    tested.receive(GET);
    answer.end();
    expect(tested.turn().sent).toBe(`${OK}${KEPT}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
    expect([tested.requests.length, tested.connection.isFinished]).toEqual([1, true]);
  });

  it('aborts what has not been answered', () => {
    const tested = new TestedHttp1().receive(GET + GET + post('hello').slice(0, -1));
    tested.requests[1]!.respond();
    tested.connection.lost();
    expect(tested.requests.map(({ aborts, answer }) => [aborts, answer.aborted])).toEqual([
      [1, true],
      [0, false],
      [1, true],
    ]);
    let told = false;
    tested.requests[0]!.answer.onAbort(() => (told = true));
    expect(told).toBe(true);
    tested.requests[0]!.respond();
    tested.receive('o');
    expect([tested.turn().sent, tested.requests[2]!.isWhole]).toEqual(['', false]);
  });

  it('of what the client sends comes after the answers to all that has come', () => {
    const tested = new TestedHttp1().receive(GET.repeat(18));
    const { requests, connection } = tested;
    requests[0]!.respond();
    connection.inputEnded();
    expect([tested.turn().sent, connection.isFinished, connection.isUnheard]).toEqual([EMPTY, false, true]);
    for (let i = 1; i < 18; i++) {
      requests[i]!.respond();
      tested.turn();
    }
    expect(tested.sent).toBe(EMPTY.repeat(16) + LAST);
    expect([connection.isFinished, requests.map(({ aborts }) => aborts)]).toEqual([true, Array(18).fill(0)]);
  });

  it('of what the client sends is that of the connection when nothing was asked', () => {
    for (const before of ['', GET]) {
      const tested = new TestedHttp1({ onRequest: answered }).receive(before);
      tested.connection.inputEnded();
      expect(tested.connection.isFinished).toBe(true);
    }
  });

  it('of what the client sends does not keep whole requests from their answers when the last is cut off', () => {
    const tested = new TestedHttp1().receive(GET + post('hello').slice(0, -3));
    tested.connection.inputEnded();
    expect([tested.turn().sent, tested.connection.isFinished]).toEqual(['', false]);
    tested.requests[0]!.respond();
    expect([tested.turn().statuses, tested.connection.isFinished]).toEqual([[200, 400], true]);
  });

  it.each([GET.slice(0, -3), post('hello').slice(0, -3), `${CHUNKED}5\r\nhel`])(
    'in the middle of %j is told',
    (sent) => {
      const tested = new TestedHttp1().receive(sent);
      tested.connection.inputEnded();
      const text = tested.turn().sent;
      expect(text).toContain('HTTP/1.1 400 ');
      expect(text).toContain('the connection ended before the request');
      expect(bodiesOf(tested).every((body) => body.endsWith('…'))).toBe(true);
    },
  );
});

describe('what is sent ahead', () => {
  it('is the beginning of the answer, whatever that is', () => {
    for (const status of [200, 503]) {
      const tested = new TestedHttp1().receive(GET + GET);
      const texts: string[] = [];
      for (let i = 0; i < 20; i++) {
        tested.connection.sendAhead();
        texts.push(tested.turn().sent);
      }
      expect(texts).toEqual([...'HTTP/1.1 '.split(''), ...Array<string>(11).fill('')]);
      for (const one of tested.requests) one.respond('', status);
      const [first, second] = tested.turn().sent.split(/(?=HTTP)/);
      expect(`HTTP/1.1 ${first}`).toBe(second);
    }
  });

  it('is a zero before the size of a chunk, and nothing within other streams', () => {
    const tested = new TestedHttp1().receive(GET + 'GET / HTTP/1.0\r\n\r\n');
    const [stream, old] = tested.requests.map(({ answer }) => answer);
    stream!.begin(200, []);
    tested.connection.sendAhead();
    void stream!.send(Buffer.from('hello'));
    for (let i = 0; i < 20; i++) tested.connection.sendAhead();
    stream!.end();
    old!.begin(200, []);
    tested.connection.sendAhead();
    old!.end(Buffer.from('text'));
    expect(
      tested
        .turn()
        .sent.split(/(?<=\r\n\r\n)/)
        .slice(1),
    ).toEqual([`05\r\nhello\r\n${'0'.repeat(9)}\r\n\r\n`, `${OK}Connection: close\r\n\r\n`, 'text']);
  });

  it('is nothing when nothing is under way', () => {
    const tested = new TestedHttp1({ onRequest: answered }).receive(GET);
    tested.connection.sendAhead();
    expect(tested.turn().sent).toBe(EMPTY);
  });
});

describe('HTTP/1.0', () => {
  const OLD = 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n';

  it('keeps a connection where that is asked for and possible', () => {
    const tested = new TestedHttp1({ onRequest: answered });
    expect(tested.receive(OLD + OLD + 'GET / HTTP/1.0\r\n\r\n' + OLD).sent).toBe(EMPTY + EMPTY + LAST);
    expect([tested.requests.length, tested.connection.isFinished]).toEqual([3, true]);
  });

  it('has no chunks: a stream ends with the connection, and nothing comes behind it', () => {
    const tested = new TestedHttp1().receive(OLD + OLD + OLD);
    const [first, second, third] = tested.requests.map(({ answer }) => answer);
    tested.requests[2]!.respond('third');
    second!.begin(200, []);
    void second!.send(Buffer.from('a'));
    first!.respond(200, ['Content-Length', '0'], []);
    second!.end(Buffer.from('b'));
    expect(tested.turn().sent).toBe(`${EMPTY}${OK}Connection: close\r\n\r\nab`);
    expect([tested.connection.isFinished, third!.aborted, tested.requests[2]!.aborts]).toEqual([true, false, 0]);
  });
});

describe('what is no HTTP', () => {
  it('is told, as the last of the connection', () => {
    const tested = new TestedHttp1({ onRequest: answered }).receive(GET + 'hello\r\n\r\n' + GET);
    expect(tested.sent).toBe(
      `${EMPTY}HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 62\r\nConnection: close\r\n\r\n{"error":"malformed HTTP request: Invalid method encountered"}`,
    );
    expect([tested.requests.length, tested.connection.isFinished]).toEqual([1, true]);
  });

  it.each([
    ['hello\r\n\r\n', 'Invalid method encountered'],
    ['GET / HTTP/1.1\r\nHost: h\r\n0\r\0\n', 'invalid header name'],
    ['CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n', 'Method Not Allowed'],
  ])('is told behind the answers to requests that wait, in one read or in many: %j', (garbage, error) => {
    for (const parts of [[GET + GET + garbage], (GET + GET + garbage).split('')]) {
      const tested = new TestedHttp1().receive(...parts);
      expect([tested.turn().sent, tested.connection.isFinished]).toEqual(['', false]);
      tested.requests[1]!.respond();
      tested.connection.inputEnded();
      tested.requests[0]!.respond();
      const { sent } = tested.turn();
      expect(sent.startsWith(`${EMPTY}${EMPTY}HTTP/1.1 40`)).toBe(true);
      expect(sent).toContain(error);
      expect([sent.match(/Connection: close/g)?.length, tested.connection.isFinished]).toEqual([1, true]);
    }
  });

  it('is told behind an answer that the server ends the connection with', () => {
    for (const end of ['drain', 'closeWhenAnswered'] as const) {
      const tested = new TestedHttp1().receive(GET + 'hello\r\n\r\n');
      tested.connection[end]();
      tested.requests[0]!.respond();
      expect([tested.turn().statuses, tested.connection.isFinished]).toEqual([[200, 400], true]);
    }
  });

  it('is not told behind an answer that has said it is the last', () => {
    const tested = new TestedHttp1().receive(GET);
    tested.connection.closeWhenAnswered();
    tested.requests[0]!.answer.begin(200, []);
    tested.receive('hello\r\n\r\n').requests[0]!.answer.end();
    expect([tested.turn().statuses, tested.connection.isFinished]).toEqual([[200], true]);
  });

  it('in a body is the answer to its request, unless that has begun', () => {
    const unbegun = new TestedHttp1().receive(CHUNKED + 'zz\r\n');
    expect([unbegun.statuses, unbegun.connection.isFinished]).toEqual([[400], true]);
    expect(unbegun.requests[0]!.isWhole).toBe(false);
    const begun = new TestedHttp1({ readsBodies: false, onRequest: answered }).receive(CHUNKED + 'zz\r\n');
    expect([begun.statuses, begun.connection.isFinished]).toEqual([[200], true]);
  });

  it('names what it quotes byte by byte', () => {
    const tested = new TestedHttp1().receive('GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \xe9\r\n\r\n');
    const [head, body] = tested.sent.split('\r\n\r\n');
    expect(Number(/Content-Length: ([0-9]+)/.exec(head!)![1])).toBe(body!.length);
    expect(Buffer.from(body!, 'latin1').toString()).toContain('got: é');
  });

  it.each([
    ['CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n', 405],
    ['CONNECT /v2 HTTP/1.1\r\nHost: h\r\n\r\n', 405],
    ['GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n', 417],
  ])('or is not to be had is refused: %j', (sent, status) => {
    const tested = new TestedHttp1({ onRequest: answered }).receive(sent);
    expect([tested.statuses, tested.requests.length, tested.connection.isFinished]).toEqual([[status], 0, true]);
  });
});

describe('time', () => {
  it.each(['', 'GET / HTTP/1.1\r\nHost: h\r\n'])('for a head is a minute: %j', (sent) => {
    const tested = new TestedHttp1().receive(sent);
    expect(tested.at(60).connection.isFinished).toBe(false);
    expect([tested.at(61).statuses, tested.connection.isFinished]).toEqual([[408], true]);
  });

  it('for a head begins with it, on a connection that was idle, and is not lengthened by pieces', () => {
    const tested = new TestedHttp1({ onRequest: answered }).receive(GET).at(100).receive('GET').at(130).receive(' /');
    tested.at(159);
    expect(tested.statuses).toEqual([200]);
    expect(tested.at(161).statuses).toEqual([408]);
  });

  it('for a whole request is five minutes', () => {
    for (const sent of [post('hello').slice(0, -1), `${CHUNKED}5\r\nhel`]) {
      const tested = new TestedHttp1().receive(sent).at(299);
      expect(tested.connection.isFinished).toBe(false);
      expect([tested.at(301).statuses, tested.connection.isFinished]).toEqual([[408], true]);
      expect(tested.requests[0]!.isWhole).toBe(false);
    }
    const answeredBefore = new TestedHttp1({ readsBodies: false, onRequest: answered }).receive(
      post('hello').slice(0, -1),
    );
    expect([answeredBefore.at(301).statuses, answeredBefore.connection.isFinished]).toEqual([[200], true]);
  });

  it('between requests is more than the client is told', () => {
    const tested = new TestedHttp1({ onRequest: answered }).receive(GET).at(5).receive(GET);
    expect(tested.at(625).connection.isFinished).toBe(false);
    expect([tested.at(627).statuses, tested.connection.isFinished]).toEqual([[200, 200], true]);
  });

  it('for an answer is as long as it takes', () => {
    const tested = new TestedHttp1().receive(GET).at(100_000);
    expect(tested.connection.isFinished).toBe(false);
    tested.requests[0]!.respond();
    expect(tested.turn().at(100_600).statuses).toEqual([200]);
    expect(tested.connection.isFinished).toBe(false);
  });

  it('does not pass for a client that is not read', () => {
    const tested = new TestedHttp1().receive(GET.repeat(999) + 'GET');
    expect(tested.at(10_000).connection.isFinished).toBe(false);
    for (let i = 0; i < 999; i++) {
      tested.requests[i]!.respond();
      tested.turn();
    }
    expect(tested.at(10_059).connection.isFinished).toBe(false);
    expect(tested.at(10_061).statuses.at(-1)).toBe(408);
  });
});
