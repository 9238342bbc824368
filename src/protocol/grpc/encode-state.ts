// The answers that are one state: a bool or an enum in field 1, as health and readiness are told. Written by hand because
// probes ask for them from the first moment on, and the generated messages take a while to load.

import { frameMessage } from './message-frame.js';

/** HealthCheckResponse.ServingStatus of grpc.health.v1. */
export const SERVING_STATUS = { SERVING: 1, NOT_SERVING: 2 } as const;

const FIELD_1_VARINT = 1 << 3;

/** The frame of the message. `state` takes one byte; what is false or 0 is left out, as the protocol's default. */
export function encodeState(state: boolean | number): Buffer {
  const value = Number(state);
  return frameMessage(value === 0 ? new Uint8Array() : Uint8Array.of(FIELD_1_VARINT, value));
}
