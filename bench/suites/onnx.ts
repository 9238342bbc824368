// Networks from ONNX files, one of dense layers and one of convolutions: one row at a time and dynamically batched, over
// HTTP binary and gRPC, beside onnxruntime alone in a loop.

import { BenchProcess } from '../bench-process.js';
import type { Comparison } from '../comparison.js';
import { chosen } from '../chosen.js';
import { errorsOf, formatComparison } from '../comparison.js';
import { measureInterleaved, type Participant } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import { rawHttpRequest } from '../load/raw-http-request.js';
import type { OnnxNetwork } from '../onnx-network.js';
import { NETWORK_NAMES, NETWORKS, type NetworkName } from '../onnx-networks.js';
import { binaryRequest, checkAnswer, grpcRequest } from '../onnx-wire.js';
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
type RunningServer = readonly [ServerName, BenchProcess];

export async function runOnnx(options: SuiteOptions): Promise<SuiteResult> {
  const { networks, wires } = chooseRows(options.only);
  const servers = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  if (!servers.includes('floor')) throw new Error('--servers must name the floor: the others are compared with it');
  const comparisons: Comparison[] = [];
  const generator = await BenchProcess.start(new URL('../load/load-generator.js', import.meta.url), {
    cpus: options.pinning.client,
  });
  try {
    for (const network of networks) {
      const running: RunningServer[] = [];
      try {
        for (const name of servers) running.push([name, await startServer(name, network, options)]);
        for (const wire of wires) {
          for (const connections of options.connections) {
            const one = await compare({ network, wire, connections }, running, { generator, ...options });
            comparisons.push(one);
            options.print(`${formatComparison(one)}\n`);
          }
        }
      } finally {
        await Promise.all(running.map(([, server]) => server.stop()));
      }
    }
  } finally {
    await generator.stop();
  }
  return { comparisons, goals: [], errors: comparisons.reduce((sum, one) => sum + errorsOf(one), 0) };
}

/** Networks and wires by name, in one list; none of a kind means all of it. */
export function chooseRows(only: readonly string[] | undefined): {
  readonly networks: readonly NetworkName[];
  readonly wires: readonly Wire[];
} {
  const rows = chosen([...NETWORK_NAMES, ...WIRES], only, '--only');
  const networks = NETWORK_NAMES.filter((name) => rows.includes(name));
  const wires = WIRES.filter((name) => rows.includes(name));
  return { networks: networks.length > 0 ? networks : NETWORK_NAMES, wires: wires.length > 0 ? wires : WIRES };
}

function startServer(name: ServerName, network: NetworkName, { pinning }: SuiteOptions): Promise<BenchProcess> {
  const { module, argument } = SERVERS[name];
  return BenchProcess.start(new URL(module, import.meta.url), {
    cpus: pinning.server,
    arguments: [network, argument],
  });
}

interface Row {
  readonly network: NetworkName;
  readonly wire: Wire;
  readonly connections: number;
}

async function compare(
  { network, wire, connections }: Row,
  running: readonly RunningServer[],
  { generator, timing }: Pick<SuiteOptions, 'timing'> & { readonly generator: BenchProcess },
): Promise<Comparison> {
  const participants: Participant[] = [];
  for (const [name, server] of running) {
    const target = name.startsWith('floor')
      ? undefined
      : await verifiedTarget(server, NETWORKS[network], { wire, connections });
    participants.push({ name, server, target });
  }
  const samples = await measureInterleaved(participants, generator, timing);
  const wireTitle = wire === 'grpc' ? 'gRPC' : 'HTTP binary';
  return {
    id: `${network} ${wire} ${connections}`,
    title: `${network} (${NETWORKS[network].about}), ${wireTitle}, ${connections} connection${connections === 1 ? '' : 's'}`,
    connections,
    measured: running.map(([name], i) => ({ server: name, title: SERVERS[name].title, samples: samples[i]! })),
  };
}

/** Asks once through a client that is not ours and checks the answer; the load then expects its very bytes. */
async function verifiedTarget(
  server: BenchProcess,
  network: OnnxNetwork,
  { wire, connections }: Omit<Row, 'network'>,
): Promise<LoadTarget> {
  if (wire === 'grpc') {
    const port = server.port('grpcPort');
    const message = grpcRequest(network);
    const expectedMessage = await askGrpc(port, message);
    checkAnswer(network, expectedMessage);
    return {
      protocol: 'grpc',
      port,
      connections,
      streams: 1,
      path: modelInfer.path,
      message,
      expectedMessage,
    };
  }
  const port = server.port('httpPort');
  const path = `/v2/models/${network.name}/infer`;
  const form = binaryRequest(network);
  const { body } = await askHttp(port, path, form);
  checkAnswer(network, body);
  return {
    protocol: 'http',
    port,
    connections,
    request: rawHttpRequest(port, path, form),
    expectedBody: body,
  };
}
