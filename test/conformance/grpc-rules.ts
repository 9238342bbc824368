import type { GrpcRule } from './replay-grpc.js';
export const GRPC_RULES: readonly GrpcRule[] = [];
