import { describe, expect, it } from 'vitest';

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { GRPCInferenceService } from '../../../test/support/generated/grpc_service_pb.js';
import { Health } from '../../../test/support/generated/health_pb.js';
import { ServerReflection } from '../../../test/support/generated/reflection_v1_pb.js';
import { ServerReflection as ServerReflectionAlpha } from '../../../test/support/generated/reflection_v1alpha_pb.js';
import { controlledCore } from '../../../test/support/controlled-core.js';
import { describedMethods } from './described-methods.js';
import { CATEGORIES } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import { isStreaming, servedMethods } from './grpc-service.js';

const server = { ...controlledCore(), isReady: () => true } as unknown as ServedCore;
const served = servedMethods({ server, forwarding: undefined, compression: 'none' });
const described = [GRPCInferenceService, Health, ServerReflection, ServerReflectionAlpha].flatMap((service) =>
  service.methods.map((method) => ({ ...method, path: `/${service.typeName}/${method.name}` })),
);

describe('the service', () => {
  it('serves every method of the protocol, and no other', () => {
    expect([...served.keys()].sort()).toEqual(described.map(({ path }) => path).sort());
  });

  it.each(described)('serves $path with as many messages as the protocol says', ({ path, methodKind }) => {
    expect(isStreaming(served.get(path)!.method)).toBe(methodKind !== 'unary');
  });

  it('says of a method that comes late whether it waits as the method itself does', () => {
    for (const [name, method] of Object.entries(describedMethods(server))) {
      if (isStreaming(method)) continue;
      const late = served.get(`/inference.GRPCInferenceService/${name}`)!.method;
      expect([name, 'waits' in late && late.waits]).toEqual([name, method.waits]);
    }
  });

  it('has a category for every method but reflection, and a method for every category', () => {
    const open = [...served].filter(([, { category }]) => category === undefined).map(([path]) => path);
    expect(open).toEqual([
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
    ]);
    const found = [...served.values()].flatMap(({ category = [] }) => category);
    expect(new Set(found)).toEqual(new Set(CATEGORIES));
  });

  it('takes large messages only where tensors or files of models come', () => {
    const large = [...served].filter(([, { maxMessageSize }]) => maxMessageSize === undefined).map(([path]) => path);
    expect(large.sort()).toEqual([
      '/inference.GRPCInferenceService/ModelInfer',
      '/inference.GRPCInferenceService/ModelStreamInfer',
      '/inference.GRPCInferenceService/RepositoryModelLoad',
    ]);
    const small = [...served.values()].flatMap(({ maxMessageSize = [] }) => maxMessageSize);
    expect(new Set(small)).toEqual(new Set([REQUEST_LIMITS.controlBytes]));
  });
});
