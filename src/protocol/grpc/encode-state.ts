// Encodes answers of health and readiness: one state, a bool or an enum in field 1. They are written by hand because probes ask
// from the first moment on, and the generated messages take a while to load.

import { frameMessage } from './message-frame.js';

/** HealthCheckResponse.ServingStatus of grpc.health.v1. */
export const SERVING_STATUS = { SERVING: 1, NOT_SERVING: 2 } as const;

const FIELD_1_VARINT = 1 << 3;

/** The frame of the message. `state` takes one byte. False and 0 are left out: they are the protocol's default. */
export function encodeState(state: boolean | number): Buffer {
  const value = Number(state);
  return frameMessage(value === 0 ? new Uint8Array() : Uint8Array.of(FIELD_1_VARINT, value));
}
