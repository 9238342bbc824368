import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { encodeState, SERVING_STATUS } from './encode-state.js';
import { ServerReadyResponseSchema } from '../../../test/support/generated/grpc_service_pb.js';
import {
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../../../test/support/generated/health_pb.js';

describe('encodeState', () => {
  it.each([true, false])('writes a bool that generated readers take for %s', (ready) => {
    const frame = encodeState(ready);
    expect(frame.readUInt32BE(1)).toBe(frame.length - 5);
    expect(fromBinary(ServerReadyResponseSchema, frame.subarray(5)).ready).toBe(ready);
  });

  it.each(['SERVING', 'NOT_SERVING'] as const)('writes an enum that generated readers take for %s', (name) => {
    const { status } = fromBinary(HealthCheckResponseSchema, encodeState(SERVING_STATUS[name]).subarray(5));
    expect(status).toBe(HealthCheckResponse_ServingStatus[name]);
  });

  it('leaves out what is the default', () => {
    expect(encodeState(false)).toEqual(Buffer.from([0, 0, 0, 0, 0]));
  });
});
