// A network of a million weights from an ONNX file: one row at a time and dynamically batched, over HTTP binary and
// gRPC, beside onnxruntime alone in a loop.

import { BenchProcess } from '../bench-process.js';
import type { Comparison } from '../comparison.js';
import { errorsOf, formatComparison } from '../comparison.js';
import { measureInterleaved, type Participant } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import { rawHttpRequest } from '../load/raw-http-request.js';
import { binaryRequest, checkAnswer, grpcRequest, MODEL } from '../onnx-mlp.js';
import { askGrpc, askHttp, modelInfer } from '../real-clients.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const BATCH = 32;

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

const SERVERS = {
  floor: { title: 'floor: onnxruntime alone, 1 row a run', module: '../floor/onnx-floor.js', argument: '1' },
  'floor-32': {
    title: `onnxruntime alone, ${BATCH} rows a run`,
    module: '../floor/onnx-floor.js',
    argument: String(BATCH),
  },
  single: { title: 'ours, maxBatchSize 1', module: '../servers/onnx-server.js', argument: '1' },
  batched: { title: `ours, maxBatchSize ${BATCH}`, module: '../servers/onnx-server.js', argument: String(BATCH) },
} as const;
type ServerName = keyof typeof SERVERS;

export async function runOnnx(options: SuiteOptions): Promise<SuiteResult> {
  const wires = chosen(WIRES, options.only, '--only');
  const servers = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  if (!servers.includes('floor')) throw new Error('--servers must name the floor: the others are compared with it');
  const comparisons: Comparison[] = [];
  const started: BenchProcess[] = [];
  const start = async (module: string, cpus: string | undefined, ...parameters: string[]): Promise<BenchProcess> => {
    const one = await BenchProcess.start(new URL(module, import.meta.url), { cpus, arguments: parameters });
    started.push(one);
    return one;
  };
  try {
    const { pinning } = options;
    const generator = await start('../load/load-generator.js', pinning.client);
    const running: (readonly [ServerName, BenchProcess])[] = [];
    for (const name of servers) {
      const { module, argument } = SERVERS[name];
      running.push([name, await start(module, pinning.server, argument)]);
    }
    for (const wire of wires) {
      for (const connections of options.connections) {
        const participants: Participant[] = [];
        for (const [name, server] of running) {
          const isFloor = name.startsWith('floor');
          participants.push({
            name,
            server,
            target: isFloor ? undefined : await verifiedTarget(server, wire, connections),
          });
        }
        const samples = await measureInterleaved(participants, generator, options.timing);
        const comparison: Comparison = {
          id: `${wire} ${connections}`,
          title: `${wire === 'grpc' ? 'gRPC' : 'HTTP binary'}, ${connections} connection${connections === 1 ? '' : 's'}`,
          connections,
          measured: participants.map(({ name }, i) => ({
            server: name,
            title: SERVERS[name as ServerName].title,
            samples: samples[i]!,
          })),
        };
        comparisons.push(comparison);
        options.print(`${formatComparison(comparison)}\n`);
      }
    }
  } finally {
    await Promise.all(started.map((one) => one.stop()));
  }
  return { comparisons, errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

function chosen<T extends string>(
  known: readonly T[],
  wanted: readonly string[] | undefined,
  option: string,
): readonly T[] {
  const unknown = wanted?.filter((name) => !(known as readonly string[]).includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`${option}: unknown '${unknown.join(', ')}', expected of ${known.join(', ')}`);
  return known.filter((name) => wanted?.includes(name) ?? true);
}

/** Asks once through a client that is not ours and checks the answer; the load then expects its very bytes. */
async function verifiedTarget(server: BenchProcess, wire: Wire, connections: number): Promise<LoadTarget> {
  if (wire === 'grpc') {
    const port = server.port('grpcPort');
    const expectedMessage = await askGrpc(port, grpcRequest);
    checkAnswer(expectedMessage);
    return {
      protocol: 'grpc',
      port,
      connections,
      streams: 1,
      path: modelInfer.path,
      message: grpcRequest,
      expectedMessage,
    };
  }
  const port = server.port('httpPort');
  const path = `/v2/models/${MODEL}/infer`;
  const { body } = await askHttp(port, path, binaryRequest);
  checkAnswer(body);
  return {
    protocol: 'http',
    port,
    connections,
    request: rawHttpRequest(port, path, binaryRequest),
    expectedBody: body,
  };
}
