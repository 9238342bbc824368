import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';

import { answerCoding, compressBody, inflateBody, maxCompressedSize, requestCoding } from './content-coding.js';

const PLAIN = Buffer.from('{"inputs":[]}'.repeat(20));
const GZIPPED = gzipSync(PLAIN);
const DEFLATED = deflateSync(PLAIN);

describe('requestCoding', () => {
  it.each([
    [undefined, 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['deflate', 'deflate'],
  ])('takes %s', (header, coding) => {
    expect(requestCoding(header)).toBe(coding);
  });

  it.each(['', 'Gzip', 'br', 'zstd', 'gzip, deflate', 'identity, gzip', 'gzip, gzip', '*', 'x-gzip'])(
    'refuses "%s"',
    (header) => {
      expect(() => requestCoding(header)).toThrow(
        expect.objectContaining({ code: 'UNSUPPORTED', message: 'Unsupported compression type' }),
      );
    },
  );
});

const upTo = (maxSize: number, room = Infinity) => ({ maxSize, hold: (bytes: number) => bytes <= room });

describe('inflateBody', () => {
  it.each([
    ['gzip', GZIPPED],
    ['zlib', DEFLATED],
    ['gzip without compression', gzipSync(PLAIN, { level: 0 })],
    ['gzip in two members', Buffer.concat([gzipSync(PLAIN.subarray(0, 10)), gzipSync(PLAIN.subarray(10))])],
  ])('inflates %s', async (_, body) => {
    expect(await inflateBody(body, upTo(PLAIN.length))).toEqual(PLAIN);
  });

  it('inflates to nothing what nothing was compressed to', async () => {
    expect(await inflateBody(gzipSync(Buffer.alloc(0)), upTo(10))).toEqual(Buffer.alloc(0));
  });

  it('refuses an empty body', async () => {
    await expect(inflateBody(Buffer.alloc(0), upTo(10))).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: 'nothing to be decompressed',
    });
  });

  const changed = (body: Buffer, offset: number) => {
    const copy = Buffer.from(body);
    copy[offset < 0 ? copy.length + offset : offset]! ^= 0x55;
    return copy;
  };
  it.each([
    ['a plain body', PLAIN, 'incorrect header check'],
    ['raw deflate', deflateRawSync(PLAIN), 'incorrect header check'],
    ['a wrong checksum', changed(GZIPPED, -6), 'incorrect data check'],
    ['a wrong length', changed(GZIPPED, -2), 'incorrect length check'],
    ['a cut by one byte', GZIPPED.subarray(0, -1), 'unexpected end of file'],
    ['a missing trailer', GZIPPED.subarray(0, -8), 'unexpected end of file'],
    ['a cut header', GZIPPED.subarray(0, 5), 'unexpected end of file'],
    ['only the header of zlib', DEFLATED.subarray(0, 2), 'unexpected end of file'],
    ['junk after gzip', Buffer.concat([GZIPPED, Buffer.from('junk')]), 'incorrect header check'],
    ['zeros after gzip', Buffer.concat([GZIPPED, Buffer.alloc(4)]), '4 bytes follow the compressed data'],
    ['junk after zlib', Buffer.concat([DEFLATED, Buffer.from('junk')]), '4 bytes follow the compressed data'],
  ])('refuses %s', async (_, body, reason) => {
    await expect(inflateBody(body, upTo(10_000))).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: `failed to decompress the request body: ${reason}`,
    });
  });

  it('refuses what inflates to more than allowed, without inflating it', async () => {
    await expect(inflateBody(GZIPPED, upTo(PLAIN.length - 1))).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: `Decompressed data size exceeds the maximum allowed value of ${PLAIN.length - 1} bytes. Use --http-max-input-size to increase the limit.`,
    });
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const before = process.memoryUsage().arrayBuffers;
    await expect(inflateBody(bomb, upTo(1024 * 1024))).rejects.toThrow('Decompressed data size exceeds');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  it('refuses what there is no room for, and takes little more for that', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const before = process.memoryUsage().arrayBuffers;
    await expect(inflateBody(bomb, upTo(2 ** 30, 4 * 1024 * 1024))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  it('inflates two bodies at a time, and none that nobody wants any more', async () => {
    const body = gzipSync(Buffer.alloc(10_000_000));
    const begun: number[] = [];
    const unwanted = new Set([7, 8]);
    const inflated = Array.from({ length: 10 }, (_, i) =>
      inflateBody(body, {
        maxSize: 20_000_000,
        hold(bytes) {
          if (bytes === body.length) begun.push(i);
          return !unwanted.has(i);
        },
      }).then(
        ({ length }) => length,
        (error: Error) => error.message,
      ),
    );
    expect(begun).toEqual([0, 1]);
    const results = await Promise.all(inflated);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(results.filter((result) => result === 10_000_000)).toHaveLength(8);
  });

  it('has room for what does not shrink', () => {
    const noise = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * i * 31) >> 3));
    expect(gzipSync(noise, { level: 0 }).length).toBeLessThan(maxCompressedSize(noise.length));
  });
});

describe('answerCoding', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['deflate', 'deflate'],
    ['br', 'identity'],
    ['*', 'identity'],
    ['identity', 'identity'],
    ['gzip, deflate', 'gzip'],
    ['deflate, gzip', 'deflate'],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['gzip;q=0.5', 'gzip'],
    ['gzip; q=0.5', 'gzip'],
    ['gzip ; Q=0.5', 'gzip'],
    ['  gzip  ', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip;q=0.5, deflate;q=0.8', 'deflate'],
    ['gzip;q=0.8,deflate;q=0.8', 'gzip'],
    ['deflate;q=0, gzip', 'gzip'],
    ['br;q=1.0, gzip;q=0.2', 'gzip'],
    ['gzip;q=1;foo=bar', 'gzip'],
    ['gzip;q=0.0001', 'gzip'],
    ['gzip;q=2', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=', 'identity'],
    ['gzip;q=abc', 'identity'],
    ['gzip;q=-1', 'identity'],
    ['gzip;level=1', 'identity'],
    ['identity, gzip', 'identity'],
    ['gzip, identity', 'gzip'],
    ['identity;q=0.9, gzip;q=0.1', 'identity'],
    ['identity;q=0.5, gzip;q=1.0', 'gzip'],
    ['gzip;q=0.5, *', 'identity'],
    ['gzip;q=0, *', 'identity'],
    ['identity;q=0, *', 'gzip'],
    ['identity;q=0, gzip;q=0, *;q=0.1', 'deflate'],
    ['identity;q=0', 'identity'],
    ['identity;q=0, *;q=0', 'identity'],
    ['*;q=0', 'identity'],
    [',,gzip,,', 'gzip'],
    ['\xa0gzip', 'identity'],
    ['gzip\xa0;q=1', 'identity'],
    ['gzip;q=\xa00.5', 'identity'],
  ])('makes of "%s" %s', (header, coding) => {
    expect(answerCoding(header)).toBe(coding);
  });
});

describe('compressBody', () => {
  const compressed = (parts: readonly Buffer[], coding: 'gzip' | 'deflate') =>
    new Promise<Buffer>((resolve) => compressBody(parts, coding, (body) => resolve(Buffer.concat(body!))));

  it.each([10, 100_000])('compresses %d bytes', async (size) => {
    const parts = [Buffer.alloc(size, 'abc'), Buffer.from('end')];
    expect(gunzipSync(await compressed(parts, 'gzip'))).toEqual(Buffer.concat(parts));
    expect(inflateSync(await compressed(parts, 'deflate'))).toEqual(Buffer.concat(parts));
    expect(gunzipSync(await compressed(parts.slice(0, 1), 'gzip'))).toEqual(parts[0]);
  });

  it('lets a small body pass large ones that came before it', async () => {
    const ended: string[] = [];
    const end = async (name: string, size: number) => {
      await compressed([Buffer.alloc(size, name)], 'gzip');
      ended.push(name);
    };
    // More than there are threads.
    const larges = Array.from({ length: 8 }, (_, i) => end(`large ${i}`, 32 * 1024 * 1024));
    await Promise.all([...larges, end('small', 20_000)]);
    expect(ended[0]).toBe('small');
  });

  it('can be cancelled', async () => {
    const done = vi.fn<() => void>();
    compressBody([Buffer.alloc(1_000_000, 'abc')], 'gzip', done)?.();
    await compressed([Buffer.alloc(2_000_000, 'def')], 'gzip');
    expect(done).not.toHaveBeenCalled();
  });
});
