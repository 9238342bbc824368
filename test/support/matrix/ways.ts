// All ways in which the matrix asks, by name.
import { grpcCalls, grpcStreams } from './grpc-ways.js';
import { generate, nodeHttp, undici } from './http-ways.js';
import { ourStreams, ourWay } from './our-ways.js';
import { pipelined } from './raw-way.js';
import type { Way } from './way.js';

export const WAYS = {
  'our client over HTTP': ourWay('http', 15),
  'our client over HTTP in JSON': ourWay('http', 5, false),
  'our client over gRPC': ourWay('grpc', 12),
  'our client over gRPC, streams of requests': ourStreams,
  'our client of the Triton itself': ourWay('triton', 8),
  'our client over fetch': ourWay('browser', 8),
  'our client over fetch in JSON': ourWay('browser', 3, false),
  'node:http': nodeHttp,
  undici,
  generate,
  'grpc-js': grpcCalls,
  'grpc-js, streams': grpcStreams,
  'a socket': pipelined,
} as const satisfies Readonly<Record<string, Way>>;

export type WayName = keyof typeof WAYS;

/** The names of the ways to a server with a thread of its own, or without. */
export function wayNames(serverThread: boolean): readonly WayName[] {
  return (Object.keys(WAYS) as WayName[]).filter((name) => !serverThread || (WAYS[name] as Way).isLocal !== true);
}
