// What gRPC calls of the core.

import type { InferenceServer } from '../../core/inference-server.js';

/** The part of the engine that answers calls. */
export type ServedCore = Pick<
  InferenceServer,
  | 'name'
  | 'version'
  | 'extensions'
  | 'exiting'
  | 'isReady'
  | 'isModelReady'
  | 'modelMetadata'
  | 'modelConfig'
  | 'statistics'
  | 'infer'
  | 'onStateChange'
  | 'sharedMemory'
  | 'traces'
>;

/** The part of the engine that control methods read and change. */
export type ControlledCore = Pick<
  InferenceServer,
  'models' | 'loadModel' | 'traceSettings' | 'updateTraceSettings' | 'logSettings' | 'sharedMemory'
>;
