import * as oracle from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { decodeMessage } from './decode-message.js';
import * as theirs from '../../../test/support/generated/reflection_v1_pb.js';
import { ModelInferRequest, RepositoryIndexRequest, TraceSettingRequest } from '../protobuf/generated/grpc-service.js';
import { ServerReflectionRequest } from '../protobuf/generated/reflection-v1.js';
import { writeMessage } from '../protobuf/write-message.js';

const known = oracle.toBinary(
  theirs.ServerReflectionRequestSchema,
  oracle.create(theirs.ServerReflectionRequestSchema, {
    host: 'h',
    messageRequest: { case: 'listServices', value: '' },
  }),
);
/** A length-delimited field. */
const field = (number: number, content: Buffer | string) => {
  const bytes = Buffer.from(content);
  const { length } = bytes;
  const written = length < 128 ? [length] : [(length & 0x7f) | 0x80, length >>> 7];
  return Buffer.concat([Buffer.of(number * 8 + 2, ...written), bytes]);
};
/** `count` times field 15 with the varint 0. */
const unknown = (count: number) => Buffer.alloc(2 * count, Buffer.of(0x78, 0));

describe('decodeMessage', () => {
  it('drops what it does not know', () => {
    const message = decodeMessage(ServerReflectionRequest, Buffer.concat([unknown(3), known, unknown(2)]));
    expect(message).toEqual({ host: 'h', messageRequest: { case: 'listServices', value: '' } });
    expect(writeMessage(ServerReflectionRequest, message)).toEqual(Buffer.from(known));
  });

  it('takes no more fields than the limit', () => {
    const { controlFields } = REQUEST_LIMITS;
    expect(decodeMessage(RepositoryIndexRequest, unknown(controlFields)).ready).toBe(false);
    expect(() => decodeMessage(RepositoryIndexRequest, unknown(controlFields + 1))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `expected a request with at most ${controlFields} protobuf fields, got more`,
      }),
    );
  });

  it('counts nested fields as well', () => {
    const { controlFields } = REQUEST_LIMITS;
    const settings = field(1, Buffer.concat([field(1, 'k'), field(2, Buffer.alloc(2 * controlFields, field(1, '')))]));
    expect(() => decodeMessage(TraceSettingRequest, settings)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG' }),
    );
  });

  it('takes a field of another wire type for one that it does not know, nested ones too', () => {
    const varint = (number: number) => Buffer.of(number * 8, 7);
    const value = Buffer.concat([varint(1), field(1, 'rate'), Buffer.of(0x0b, 0x08, 1, 0x0c)]);
    const entry = Buffer.concat([varint(2), field(1, 'k'), field(2, value), varint(1)]);
    const message = decodeMessage(
      TraceSettingRequest,
      Buffer.concat([varint(2), field(1, entry), field(2, 'm'), Buffer.of(0x15, 1, 2, 3, 4)]),
    );
    expect(message.modelName).toBe('m');
    expect(Object.entries(message.settings).map(([key, { value: values }]) => [key, values])).toEqual([
      ['k', ['rate']],
    ]);
  });

  it.each([
    ['a map entry whose key runs past its end', field(1, Buffer.of(0x0a, 4, 0x6b)), field(2, 'name')],
    ['one whose value does', field(1, Buffer.concat([field(1, 'k'), Buffer.of(0x12, 4)])), field(2, 'name')],
    [
      'a value whose text does',
      field(1, Buffer.concat([field(1, 'k'), field(2, Buffer.of(0x0a, 9))])),
      field(2, 'name'),
    ],
    ['a tag that ends beyond', field(1, Buffer.of(0x8a)), Buffer.of(0x00)],
  ])('refuses %s, whatever follows', (_, ...parts) => {
    expect(() => decodeMessage(TraceSettingRequest, Buffer.concat(parts))).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: 'Unable to parse request' }),
    );
  });

  it('refuses packed numbers whose last one runs past their end', () => {
    const shape = (...packed: readonly number[]) =>
      decodeMessage(
        ModelInferRequest,
        Buffer.concat([field(5, Buffer.concat([field(3, Buffer.from(packed)), field(1, 'x')]))]),
      ).inputs[0]!.shape;
    expect(shape(1, 0x81, 1)).toEqual([1n, 129n]);
    expect(() => shape(1, 0x81)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });

  it.each([
    ['what is no protobuf', Buffer.of(0xff)],
    ['a length beyond the end', Buffer.of(0x0a, 5, 0)],
    ['a group without an end', Buffer.of(0x7b)],
  ])('refuses %s', (_, bytes) => {
    expect(() => decodeMessage(ServerReflectionRequest, bytes)).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: 'Unable to parse request' }),
    );
  });
});
