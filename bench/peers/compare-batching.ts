// The same arrivals to a real tritonserver and to ours, on models with the same batcher, and what each made of them.
//
//   node build/bench/peers/compare-batching.js repository FOLDER     writes Triton's model repository
//   tritonserver --model-repository FOLDER …                         (see docs/internals/batching-beside-triton.md)
//   node build/bench/peers/compare-batching.js compare PORTS [names] PORTS: Triton's HTTP,gRPC,metrics; prints two tables

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describeMachine, loadAverage } from '../machine.js';
import { configPbtxt, WORKLOADS } from './batching-workloads.js';
import { COUNTED_HEAD, countedRow, head, SEEN_HEAD, seenRow } from './comparison-rows.js';
import { serve, startOurs } from './our-batching-server.js';
import type { ServerPorts } from './our-batching-server.js';
import { play } from './play-arrivals.js';

// Compiled, this module is build/bench/peers/compare-batching.js.
const MODEL = new URL('../../../bench/peers/batching-model.py', import.meta.url);

async function writeRepository(folder: string): Promise<void> {
  for (const workload of WORKLOADS) {
    await mkdir(join(folder, workload.name, '1'), { recursive: true });
    await writeFile(join(folder, workload.name, 'config.pbtxt'), configPbtxt(workload));
    await copyFile(fileURLToPath(MODEL), join(folder, workload.name, '1', 'model.py'));
  }
}

function parsePorts(text: string): ServerPorts {
  const [http, grpc, metrics] = text.split(',').map(Number);
  if (!http || !grpc || !metrics) throw new Error(`expected three ports as HTTP,gRPC,metrics, got '${text}'`);
  return { http, grpc, metrics };
}

async function compare(tritonPorts: ServerPorts, names: readonly string[]): Promise<void> {
  const workloads = WORKLOADS.filter(({ name }) => names.length === 0 || names.includes(name));
  const { cpu, cores, node } = describeMachine();
  console.error(`${cpu}, ${cores} cores, Node ${node}; load average before: ${loadAverage().join(' ')}`);
  const seen: string[] = [];
  const counted: string[] = [];
  const ours = await startOurs(import.meta.url);
  try {
    for (const workload of workloads) {
      console.error(workload.name);
      const servers = [
        ['Triton', tritonPorts],
        ['TSTriton', ours.ports],
      ] as const;
      for (const [server, ports] of servers) {
        const played = await play(ports, workload);
        seen.push(seenRow(workload, server, played));
        counted.push(countedRow(workload, server, played));
      }
    }
  } finally {
    await ours.stop();
  }
  console.error(`load average after: ${loadAverage().join(' ')}`);
  console.log([...head(SEEN_HEAD), ...seen, '', ...head(COUNTED_HEAD), ...counted].join('\n'));
}

const [command, argument, ...names] = process.argv.slice(2);
if (command === 'repository' && argument !== undefined) await writeRepository(argument);
else if (command === 'serve') await serve();
else if (command === 'compare' && argument !== undefined) await compare(parsePorts(argument), names);
else {
  console.error('usage: compare-batching.js repository FOLDER | compare HTTP,GRPC,METRICS [names]');
  process.exitCode = 1;
}
