import { expect, it } from 'vitest';

import { GRPCInferenceService } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { Health } from '../../protocol/grpc/generated/health_pb.js';
import { CATEGORIES } from '../restricted-features.js';
import { categoryOfMethod } from './method-categories.js';

it('every method of the services has a category, and every category a method', () => {
  const paths = [GRPCInferenceService, Health].flatMap(({ typeName, methods }) =>
    methods.map(({ name }) => `/${typeName}/${name}`),
  );
  const found = paths.map(categoryOfMethod);
  expect(paths.filter((_, index) => found[index] === undefined)).toEqual([]);
  expect(new Set(found)).toEqual(new Set(CATEGORIES));
});

it('other paths have none', () => {
  expect(categoryOfMethod('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo')).toBeUndefined();
  expect(categoryOfMethod('/constructor')).toBeUndefined();
  expect(categoryOfMethod('')).toBeUndefined();
});
