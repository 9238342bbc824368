import { describe, expect, it } from 'vitest';

import { decodeGrpcMessage, encodeGrpcMessage } from '../protocol/grpc/grpc-status.js';
import { TritonError } from '../errors.js';
import { provesUnexecuted } from '../model/unexecuted.js';
import { executionError, parseModelVersion, requestLabel, serverStopping } from './refusals.js';

describe('requestLabel', () => {
  it.each([
    ['', '[request id: <id_unknown>] '],
    ['7', '[request id: 7] '],
    ['a'.repeat(4000), `[request id: ${'a'.repeat(4000)}] `],
    ['a'.repeat(20_000), `[request id: ${'a'.repeat(4000)}...] `],
    ['é'.repeat(500), `[request id: ${'é'.repeat(500)}] `],
    ['é'.repeat(501), `[request id: ${'é'.repeat(500)}...] `],
  ])('names the request (%#)', (id, expected) => {
    expect(requestLabel(id)).toBe(expected);
  });

  it.each(['x', '%', '語', '😀'])('leaves room for the reason over gRPC behind a long id of %s', (character) => {
    const { message } = serverStopping(character.repeat(20_000));
    const received = decodeGrpcMessage(encodeGrpcMessage(message));
    expect(received).toBe(message);
    expect(provesUnexecuted(received)).toBe(true);
  });
});

describe('executionError', () => {
  it.each(['UNAVAILABLE', 'NOT_FOUND'] as const)(
    'does not say %s of an execution in the words of a refusal',
    (code) => {
      const error = new TritonError(code, "Request for unknown model: 'other' has no available versions");
      const told = executionError(error, 'm');
      expect(told).toMatchObject({ code, message: `model 'm' failed while it ran: ${error.message}`, cause: error });
      expect(provesUnexecuted(told.message)).toBe(false);
    },
  );
});

describe('parseModelVersion', () => {
  it.each([
    ['', undefined],
    ['1', 1],
    ['0', 0],
    ['007', 7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('reads %j as %j', (text, expected) => {
    expect(parseModelVersion(text)).toBe(expected);
  });

  it("refuses negative versions in Triton's words", () => {
    expect(() => parseModelVersion('-1')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: "invalid model version specified '-1' , version should be an integral value > 0",
      }),
    );
  });

  it.each(['abc', '1.5', '1x', ' 1', '+1', '0x1', '1e3', '9223372036854775808', '99999999999999999999', '١'])(
    "refuses %j in Triton's words",
    (text) => {
      expect(() => parseModelVersion(text)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARG',
          message: `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`,
        }),
      );
    },
  );
});
