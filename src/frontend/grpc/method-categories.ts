// The categories by which methods can be restricted (server/src/restricted_features.h), and the texts of the refusal.

import type { Category } from '../restricted-features.js';

/** What Triton puts before the keys of restrictions in the metadata of calls. */
export const RESTRICTION_PREFIX = 'triton-grpc-protocol-';

const CATEGORY_OF_METHOD: Readonly<Record<string, Category>> = {
  'grpc.health.v1.Health/Check': 'health',
  'grpc.health.v1.Health/Watch': 'health',
  'inference.GRPCInferenceService/ServerLive': 'health',
  'inference.GRPCInferenceService/ServerReady': 'health',
  'inference.GRPCInferenceService/ModelReady': 'health',
  'inference.GRPCInferenceService/ServerMetadata': 'metadata',
  'inference.GRPCInferenceService/ModelMetadata': 'metadata',
  'inference.GRPCInferenceService/ModelInfer': 'inference',
  'inference.GRPCInferenceService/ModelStreamInfer': 'inference',
  'inference.GRPCInferenceService/ModelConfig': 'model-config',
  'inference.GRPCInferenceService/ModelStatistics': 'statistics',
  'inference.GRPCInferenceService/RepositoryIndex': 'model-repository',
  'inference.GRPCInferenceService/RepositoryModelLoad': 'model-repository',
  'inference.GRPCInferenceService/RepositoryModelUnload': 'model-repository',
  'inference.GRPCInferenceService/SystemSharedMemoryStatus': 'shared-memory',
  'inference.GRPCInferenceService/SystemSharedMemoryRegister': 'shared-memory',
  'inference.GRPCInferenceService/SystemSharedMemoryUnregister': 'shared-memory',
  'inference.GRPCInferenceService/CudaSharedMemoryStatus': 'shared-memory',
  'inference.GRPCInferenceService/CudaSharedMemoryRegister': 'shared-memory',
  'inference.GRPCInferenceService/CudaSharedMemoryUnregister': 'shared-memory',
  'inference.GRPCInferenceService/TraceSetting': 'trace',
  'inference.GRPCInferenceService/LogSettings': 'logging',
};

/** The category of a method by its path; undefined for methods that nothing restricts. */
export function categoryOfMethod(path: string): Category | undefined {
  const method = path.slice(1);
  return Object.hasOwn(CATEGORY_OF_METHOD, method) ? CATEGORY_OF_METHOD[method] : undefined;
}
