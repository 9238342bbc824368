// Header fields through the HPACK of node:http2 and ours, both ways: what either encodes, the other decodes to the same, over
// many messages of one connection, so that both tables fill, overflow and change their size.
import {
  connect,
  createServer,
  getDefaultSettings,
  sensitiveHeaders,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectTo, startEcho } from '../../../test/support/http2-echo.js';
import { Random } from '../../../test/support/random-life/random.js';
import type { HeaderList } from '../header-list.js';
import { HeaderTemplate, type OutgoingHeaders } from '../outgoing-headers.js';

const RUNS = Number(process.env['HTTP2_FUZZ_RUNS'] ?? 200);
const SEED = Number(process.env['HTTP2_FUZZ_SEED'] ?? 1);
const TIMEOUT = { timeout: Math.max(20_000, RUNS * 20) };

const NAMES = [
  'x-a',
  'x-b',
  'x-long-name-of-a-field',
  'grpc-timeout',
  'user-agent',
  'authorization',
  'accept',
  'x.y_z~0',
];

function randomValue(random: Random): string {
  const length = random.of([0, 1, 5, 30, 200, 1000]);
  const characters = random.of(['a', 'abcdefghij', '0123456789', ' ~!@#^&()_+{}|:<>?', '\x80\xff\t']);
  const text = Array.from({ length }, () => characters[random.integer(0, characters.length - 1)]!).join('');
  return `v${text}v`;
}

/** Names are different: node:http2 joins the lines of some. */
function randomFields(random: Random): [string, string][] {
  return NAMES.filter(() => random.chance(0.5)).map((name) => [name, randomValue(random)]);
}

function byName(fields: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  return fields.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function known(headers: IncomingHttpHeaders): readonly (readonly [string, string])[] {
  const fields = NAMES.filter((name) => headers[name] !== undefined);
  return byName(fields.map((name) => [name, headers[name] as string] as const));
}

function knownOf(list: HeaderList | undefined): readonly (readonly [string, string])[] {
  const fields = NAMES.map((name) => [name, list?.get(name)] as const);
  return byName(fields.filter((field): field is readonly [string, string] => field[1] !== undefined));
}

describe('HPACK of node:http2', () => {
  it.each([4096, 0, 100, 65_536])('is decoded, with a table of %i bytes', TIMEOUT, async (headerTableSize) => {
    const received: (readonly (readonly [string, string])[])[] = [];
    await using echo = await startEcho({
      connection: { headerTableSize },
      onStream: (stream, headers) => {
        received.push(knownOf(headers));
        return {
          onData: () => undefined,
          onEnd: () => stream.sendHeaders(new HeaderTemplate([':status', '204']), true),
        };
      },
    });
    const session = connect(`http://127.0.0.1:${echo.port}`, { settings: { ...getDefaultSettings() } });
    const random = new Random(SEED);
    const sent: (readonly (readonly [string, string])[])[] = [];
    for (let i = 0; i < RUNS; i++) {
      const fields = randomFields(random);
      const headers: OutgoingHttpHeaders = { ':path': `/${i % 7}`, ...Object.fromEntries(fields) };
      if (random.chance(0.2)) Object.assign(headers, { [sensitiveHeaders]: NAMES.slice(0, 3) });
      sent.push(byName(fields));
      const stream = session.request(headers, { endStream: true });
      await new Promise((resolve, reject) => stream.once('close', resolve).once('error', reject).resume());
    }
    expect(received).toEqual(sent);
    session.close();
  });

  it.each([4096, 0, 100, 65_536])('decodes ours, with a table of %i bytes', TIMEOUT, async (headerTableSize) => {
    const received: (readonly (readonly [string, string])[])[] = [];
    const node = createServer({ settings: { headerTableSize } });
    node.on('stream', (stream, headers) => {
      received.push(known(headers));
      stream.respond({ ':status': 204 }, { endStream: true });
    });
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
    using client = connectTo((node.address() as AddressInfo).port);
    const random = new Random(SEED);
    const templates = Array.from({ length: 12 }, () => {
      const fields = randomFields(random);
      const path = [':method', 'POST', ':scheme', 'http', ':path', `/${random.integer(0, 5)}`, ':authority', 'h'];
      return { fields, template: new HeaderTemplate([...path, ...fields.flat()]) };
    });
    const sent: (readonly (readonly [string, string])[])[] = [];
    for (let i = 0; i < RUNS; i++) {
      const { fields, template } = random.of(templates);
      const names = new Set(fields.map(([name]) => name));
      const extra = random.chance(0.5) ? randomFields(random).filter(([name]) => !names.has(name)) : [];
      const headers: OutgoingHeaders = extra.length === 0 ? template : template.with(extra.flat());
      sent.push(byName([...fields, ...extra]));
      await client.call([], headers);
    }
    expect(received).toEqual(sent);
    client.socket.destroy();
    await new Promise((resolve) => node.close(resolve));
  });
});
