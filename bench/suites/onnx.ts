// Networks from ONNX files, one of dense layers and one of convolutions: one row at a time and dynamically batched, over
// HTTP binary and gRPC, beside onnxruntime alone in a loop.

import { askedGrpc, askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import type { Comparison } from '../comparison.js';
import { chosen } from '../chosen.js';
import { errorsOf, formatComparison } from '../comparison.js';
import { measureInterleaved, type Participant } from '../interleaved.js';
import type { LoadTarget } from '../load/load-run.js';
import type { OnnxNetwork } from '../onnx-network.js';
import { NETWORK_NAMES, NETWORKS, type NetworkName } from '../onnx-networks.js';
import { binaryRequests, checkAnswer, grpcRequests } from '../onnx-wire.js';
import { StartedProcesses } from '../started-processes.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';

const BATCH = 32;

const WIRES = ['http-binary', 'grpc'] as const;
type Wire = (typeof WIRES)[number];

const SERVERS = {
  floor: { title: 'floor: onnxruntime alone, 1 row a run', module: './floor/onnx-floor.js', argument: '1' },
  'floor-32': {
    title: `onnxruntime alone, ${BATCH} rows a run`,
    module: './floor/onnx-floor.js',
    argument: String(BATCH),
  },
  single: { title: 'ours, maxBatchSize 1', module: './servers/onnx-server.js', argument: '1' },
  batched: { title: `ours, maxBatchSize ${BATCH}`, module: './servers/onnx-server.js', argument: String(BATCH) },
} as const;
type ServerName = keyof typeof SERVERS;
type RunningServer = readonly [ServerName, BenchProcess];

export async function runOnnx(options: SuiteOptions): Promise<SuiteResult> {
  const { networks, wires } = chooseRows(options.only);
  const names = chosen(Object.keys(SERVERS) as ServerName[], options.servers, '--servers');
  if (!names.includes('floor')) throw new Error('--servers must name the floor: the others are compared with it');
  const comparisons: Comparison[] = [];
  await using processes = new StartedProcesses();
  const generator = await processes.start('./load/load-generator.js', options.pinning.client);
  for (const network of networks) {
    await using servers = new StartedProcesses();
    const running: RunningServer[] = [];
    for (const name of names) {
      const { module, argument } = SERVERS[name];
      running.push([name, await servers.start(module, options.pinning.server, network, argument)]);
    }
    for (const wire of wires) {
      for (const connections of options.connections) {
        const one = await compare({ network, wire, connections }, running, { generator, ...options });
        comparisons.push(one);
        options.print(`${formatComparison(one)}
`);
      }
    }
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

async function verifiedTarget(
  server: BenchProcess,
  network: OnnxNetwork,
  { wire, connections }: Omit<Row, 'network'>,
): Promise<LoadTarget> {
  if (wire === 'grpc') {
    const check = (message: Buffer): void => checkAnswer(network, message);
    return { ...(await askedGrpc(server.port('grpcPort'), grpcRequests(network), check)), connections };
  }
  const place = { port: server.port('httpPort'), path: `/v2/models/${network.name}/infer` };
  const target = await askedHttp(place, binaryRequests(network), ({ body }) => checkAnswer(network, body));
  return { ...target, connections };
}
