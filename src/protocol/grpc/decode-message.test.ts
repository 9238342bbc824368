import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { decodeMessage } from './decode-message.js';
import { RepositoryIndexRequestSchema } from './generated/grpc_service_pb.js';
import { ServerReflectionRequestSchema } from './generated/reflection_v1_pb.js';

const known = toBinary(
  ServerReflectionRequestSchema,
  create(ServerReflectionRequestSchema, { host: 'h', messageRequest: { case: 'listServices', value: '' } }),
);
/** `count` times field 15 with the varint 0. */
const unknown = (count: number) => Buffer.alloc(2 * count, Buffer.of(0x78, 0));

describe('decodeMessage', () => {
  it('drops what it does not know', () => {
    const message = decodeMessage(ServerReflectionRequestSchema, Buffer.concat([unknown(3), known, unknown(2)]));
    expect(message.$unknown).toBeUndefined();
    expect(message.host).toBe('h');
    expect(Buffer.from(toBinary(ServerReflectionRequestSchema, message))).toEqual(Buffer.from(known));
  });

  it('takes no more fields than the limit', () => {
    const { controlFields } = REQUEST_LIMITS;
    expect(decodeMessage(RepositoryIndexRequestSchema, unknown(controlFields)).ready).toBe(false);
    expect(() => decodeMessage(RepositoryIndexRequestSchema, unknown(controlFields + 1))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `expected a request with at most ${controlFields} protobuf fields, got more`,
      }),
    );
  });

  it.each([
    ['what is no protobuf', Buffer.of(0xff)],
    ['a length beyond the end', Buffer.of(0x0a, 5, 0)],
    ['a group without an end', Buffer.of(0x7b)],
  ])('refuses %s', (_, bytes) => {
    expect(() => decodeMessage(ServerReflectionRequestSchema, bytes)).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: 'Unable to parse request' }),
    );
  });
});
