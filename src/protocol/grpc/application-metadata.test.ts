import { expect, it } from 'vitest';

import { applicationMetadata } from './application-metadata.js';

it('leaves out what belongs to HTTP/2 and to gRPC', () => {
  const transport = {
    ':method': 'POST',
    ':path': '/inference.GRPCInferenceService/ModelInfer',
    ':scheme': 'http',
    ':authority': 'localhost',
    host: 'localhost',
    te: 'trailers',
    'content-type': 'application/grpc',
    'grpc-timeout': '1S',
    'grpc-encoding': 'identity',
    'grpc-accept-encoding': 'gzip',
    'grpc-internal-encoding-request': 'gzip',
    'grpc-message': 'm',
    'grpc-status': '0',
    'grpc-server-stats-bin': 'AAA=',
    'grpc-tags-bin': 'AAA=',
    'grpc-trace-bin': 'AAA=',
    'endpoint-load-metrics-bin': 'AAA=',
  };
  expect(applicationMetadata(Object.entries(transport).flat())).toEqual([]);
});

it('keeps what Triton shows to its models, whatever it is called', () => {
  const own = {
    'user-agent': 'me/1',
    'accept-encoding': 'gzip',
    'content-length': '31',
    authorization: 'Bearer t',
    cookie: 'a=b',
    'grpc-previous-rpc-attempts': '1',
    'grpc-timeout-x': '1',
    'lb-token': 'l',
    'x-empty': '',
  };
  expect(applicationMetadata(Object.entries(own).flat())).toEqual(Object.entries(own).flat());
});

it('decodes binary values, with padding or without, one by one', () => {
  expect(applicationMetadata(['x-bin', 'aGV5'])).toEqual(['x-bin', 'hey']);
  expect(applicationMetadata(['x-bin', 'YQ', 'y-bin', 'YQ==,Yg=='])).toEqual(['x-bin', 'a', 'y-bin', 'a, b']);
});
