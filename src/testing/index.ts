/**
 * Tests of callables and of applications.
 *
 * @module tstriton/testing
 */

export { call, type CallOptions, type CallResult } from './call.js';
export { inProcess, type RunningInProcess } from './in-process.js';
export { mockModel, type MockAnswer, type MockModel } from './mock-model.js';
export type { TestedModel } from './tested-models.js';
