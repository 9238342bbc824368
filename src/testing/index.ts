// Entry point for tests of callables: 'tstriton/testing'.

export { call, type CallOptions, type CallResult } from './call.js';
export type { TestedModel } from './tested-models.js';
