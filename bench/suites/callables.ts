// Callables that stream, block, compute or take much: a decoupled model's responses, readiness while a callable spins,
// instance threads, and a batch of images on its way to a thread.

import { askedHttp } from '../asked-targets.js';
import type { BenchProcess } from '../bench-process.js';
import * as workload from '../callables-workload.js';
import type { Comparison } from '../comparison.js';
import { errorsOf, formatComparison, medianOf, ratioToFloor } from '../comparison.js';
import { chosen } from '../chosen.js';
import { formatGoals, goalFor, type Goal } from '../goals.js';
import { measureInterleaved } from '../interleaved.js';
import type { Participant } from '../interleaved.js';
import type { ThreadsOrder } from '../load/bare-threads.js';
import type { ProbeOrder, ProbeReport } from '../load/ready-probe.js';
import type { StreamOrder, StreamReport } from '../load/response-stream.js';
import { loadAverage } from '../machine.js';
import type { CloneReport } from '../servers/callables-server.js';
import { StartedProcesses } from '../started-processes.js';
import { median } from '../statistics.js';
import type { SuiteOptions, SuiteResult } from '../suite.js';
import { RESPONSES, ROWS, SERVERS, startServer, TITLES, WIRES } from './callables-part.js';
import type { Part, Row, Run, ServerName } from './callables-part.js';
import { measureFairness } from './callables-fair.js';
import { formatFigure, formatTable } from '../table.js';
import { checkTail, type HttpForm, IDS } from '../tensor-wire.js';

const WORK_MS = 10;

const PARTS: Readonly<Record<Row, (run: Run) => Promise<Part>>> = {
  stream: measureStreams,
  ready: measureReady,
  threads: measureThreads,
  tensor: measureTensor,
  fair: measureFairness,
};

export async function runCallables(options: SuiteOptions): Promise<SuiteResult> {
  const wanted = chosen(ROWS, options.only, '--only');
  const names = chosen(SERVERS, options.servers, '--servers');
  const figures: Record<string, object> = {};
  const comparisons: Comparison[] = [];
  const goals: Goal[] = [];
  const steps = workload.stepsFor(WORK_MS);
  for (const row of wanted) {
    await using processes = new StartedProcesses();
    const start: Run['start'] = (module, cpus, ...parameters) => processes.start(module, cpus, ...parameters);
    const part = await PARTS[row]({ ...options, names, steps, start });
    figures[row] = { ...part.figures, loadAverage: loadAverage() };
    if (part.comparison) comparisons.push(part.comparison);
    goals.push(...part.goals);
  }
  options.print(formatGoals(goals));
  const errors = comparisons.reduce((sum, one) => sum + errorsOf(one), 0);
  return { comparisons, errors, goals, figures: { workSteps: steps, ...figures } };
}

interface StreamSample extends StreamReport {
  readonly server: ServerName;
  readonly kind: StreamOrder['kind'];
  /** Microseconds of the server process. */
  readonly serverCpu: number;
}

async function measureStreams(run: Run): Promise<Part> {
  const client = await run.start('./load/callables-client.js', run.pinning.client);
  const servers: { readonly name: ServerName; readonly process: BenchProcess }[] = [];
  for (const name of run.names)
    servers.push({ name, process: await startServer(run, name, 'stream', run.pinning.server) });
  const samples: StreamSample[] = [];
  const kinds = ['grpc', 'sse', 'chat'] as const;
  const [warmUps, each] = run.isQuick ? [1, 2] : [5, 5];
  for (let round = -1; round < run.timing.rounds; round++) {
    for (const kind of kinds) {
      for (const { name, process: server } of servers) {
        const order = { kind, port: server.port(kind === 'grpc' ? 'grpcPort' : 'httpPort'), count: RESPONSES };
        for (let i = 0; i < (round < 0 ? warmUps : each); i++) {
          const before = await server.usage();
          const report = (await client.load(order, () => undefined)) as StreamReport;
          const after = await server.usage();
          if (round >= 0) samples.push({ server: name, kind, ...report, serverCpu: after.cpu - before.cpu });
        }
      }
    }
  }
  const goals: Goal[] = [];
  const rows = kinds.flatMap((kind) =>
    run.names.map((name) => {
      const own = samples.filter((sample) => sample.kind === kind && sample.server === name);
      const of = (figure: (sample: StreamSample) => number): number => median(own.map(figure));
      const title = `${WIRES[kind]}, ${TITLES[name]}`;
      const rate = of(({ seconds }) => RESPONSES / seconds);
      const first = of(({ firstMs }) => firstMs);
      goals.push(goalFor('P10', `${title}: responses/s`, rate), goalFor('P10', `${title}: first ms`, first));
      const clientBusy = of(({ clientCpu, seconds }) => clientCpu / seconds / 1e6);
      return [
        title,
        formatFigure(rate),
        formatFigure(first),
        formatFigure(of(({ serverCpu }) => serverCpu / RESPONSES)),
        `${(clientBusy * 100).toFixed(0)} %`,
        formatFigure(of(({ bytes }) => bytes / RESPONSES)),
      ];
    }),
  );
  const head = ['server', 'responses/s', 'first ms', 'server CPU us each', 'client busy', 'bytes each'];
  run.print(`${RESPONSES} responses to one request, medians of requests\n${formatTable(head, rows)}\n`);
  return { figures: { samples }, goals };
}

// The spinning thread and the server's must not share a core, so neither process is pinned.
async function measureReady(run: Run): Promise<Part> {
  const client = await run.start('./load/callables-client.js', undefined);
  const [milliseconds, idleMilliseconds, rounds] = run.isQuick
    ? [1000, 300, 1]
    : [5000, 1000, Math.min(run.timing.rounds, 3)];
  const samples: (ProbeReport & { readonly server: ServerName; readonly spin: boolean })[] = [];
  for (const server of run.names) {
    const port = (await startServer(run, server, 'ready', undefined)).port('httpPort');
    const probe = async (spin: boolean, time: number): Promise<ProbeReport> => {
      const order: ProbeOrder = { kind: 'ready', port, milliseconds: time, spin };
      return (await client.load(order, () => undefined)) as ProbeReport;
    };
    await probe(true, 300);
    for (let round = 0; round < rounds; round++) {
      for (const spin of [false, true]) {
        samples.push({ server, spin, ...(await probe(spin, spin ? milliseconds : idleMilliseconds)) });
      }
    }
  }
  const places = { thread: "in run()'s thread", inline: 'in an instance thread' };
  const goals: Goal[] = [];
  const rows = run.names.flatMap((name) =>
    [false, true].map((spin) => {
      const own = samples.filter((sample) => sample.server === name && sample.spin === spin);
      const of = (figure: keyof ProbeReport): number => median(own.map((sample) => sample[figure]));
      const what = spin ? `spins ${places[name]}` : 'nothing to do';
      const title = `${TITLES[name]}, ${what}`;
      if (spin) goals.push(goalFor('P11', `ready while it ${what}, ${TITLES[name]}: p99 ms`, of('p99')));
      const worst = Math.max(...own.map(({ max }) => max));
      return [title, ...[of('probes'), of('p50'), of('p99'), worst, of('lateness')].map(formatFigure)];
    }),
  );
  const head = ['server', 'probes a round', 'p50 ms', 'p99 ms', 'worst ms', 'client late ms (p99)'];
  run.print(
    `/v2/health/ready every 5 ms for ${milliseconds / 1000} s, ${idleMilliseconds / 1000} s with nothing to do, not pinned\n${formatTable(head, rows)}\n`,
  );
  return { figures: { milliseconds, samples }, goals };
}

const httpPlace = (server: BenchProcess, model: string) => {
  return { port: server.port('httpPort'), path: `/v2/models/${model}/infer` };
};

// Not pinned either: two threads need two cores.
async function measureThreads(run: Run): Promise<Part> {
  const generator = await run.start('./load/load-generator.js', undefined);
  const server = await startServer(run, 'thread', 'threads', undefined);
  const bare = await run.start('./load/bare-threads.js', undefined, String(run.steps));
  const rate = async (threads: number): Promise<number> => {
    const order: ThreadsOrder = { threads, milliseconds: run.timing.seconds * 1000 };
    return (await bare.load(order, () => undefined)) as number;
  };
  const participants: Participant[] = [];
  const connections = 8;
  for (const name of workload.WORK_MODELS) {
    const forms = IDS.map((_, k) => workload.valueRequest(k + 1));
    const target = await askedHttp(httpPlace(server, name), forms, ({ body }, k) => workload.checkValue(body, k + 1));
    participants.push({ name, server, target: { ...target, connections } });
  }
  const bareRates: { readonly one: number; readonly two: number }[] = [];
  for (let round = 0; round < run.timing.rounds; round++) bareRates.push({ one: await rate(1), two: await rate(2) });
  const samples = await measureInterleaved(participants, generator, run.timing);
  const titles = ['1 instance thread', '2 instance threads'];
  const measured = participants.map(({ name }, i) => ({ server: name, title: titles[i]!, samples: samples[i]! }));
  const title = `${WORK_MS} ms of computing per request, maxBatchSize 1, ${connections} connections, not pinned`;
  const comparison: Comparison = { id: 'threads', title, connections, measured };
  const ceiling = median(bareRates.map(({ one, two }) => two / one));
  const bareTitle = `two bare threads without a server compute ${formatFigure(ceiling)} x as much as one here`;
  run.print(`${formatComparison(comparison)}\n${bareTitle}\n`);
  const ratio = ratioToFloor(comparison, measured[1]!, 'requestsPerSecond').median;
  const goals = [goalFor('P12', '2 instance threads: req/s x those of one', ratio)];
  return { figures: { bareRates }, comparison, goals };
}

async function measureTensor(run: Run): Promise<Part> {
  const generator = await run.start('./load/load-generator.js', run.pinning.client);
  const form = workload.tensorRequest();
  const participants: Participant[] = [];
  const titles: string[] = [];
  let clones: CloneReport | undefined;
  for (const name of [...run.names].reverse()) {
    const server = await startServer(run, name, 'tensor', run.pinning.server);
    const places = { [workload.ECHO_HERE_MODEL]: "run()'s thread", [workload.ECHO_MODEL]: 'an instance thread' };
    for (const [model, place] of Object.entries(places)) {
      const target = await askedHttp(httpPlace(server, model), [form], ({ body }) =>
        checkTail(model, body, form.body.subarray(-workload.TENSOR_BYTES)),
      );
      participants.push({ name: `${name} ${model}`, server, target });
      titles.push(`${TITLES[name]}, callable in ${place}`);
    }
    clones ??= (await server.load(run.isQuick ? 10 : 30, () => undefined)) as CloneReport;
  }
  const samples = await measureInterleaved(participants, generator, run.timing);
  const measured = participants.map(({ name }, i) => ({ server: name, title: titles[i]!, samples: samples[i]! }));
  const { TENSOR_ROWS: rows, TENSOR_ROW_LENGTH: length } = workload;
  const title = `${rows} x ${length} FP32 (${(workload.TENSOR_BYTES / 1e6).toFixed(1)} MB) and back, HTTP binary`;
  const comparison: Comparison = { id: 'tensor', title, connections: 1, measured };
  const { milliseconds, cpu } = clones!;
  const lines = [
    formatComparison(comparison),
    `structuredClone of these bytes, one way: ${formatFigure(median(milliseconds))} ms, ${formatFigure(cpu)} ms of CPU`,
  ];
  const posted = await countCopies(run, form);
  lines.push(
    `one request posts to an instance thread ${posted[1]} bytes transferred, ${posted[0]} copied; ` +
      `back ${posted[3]} transferred, ${posted[2]} copied`,
  );
  const copied = posted[0]! + posted[2]!;
  const goals: Goal[] = [
    { id: 'copy', what: 'bytes copied to an instance thread and back', got: copied, bound: 'at most', target: 0 },
  ];
  // Only where the callable runs in the server's own thread does nothing cross to another.
  const [direct, ...crossing] = run.names.includes('inline') ? measured : [];
  const cpuOf = (one: Comparison['measured'][number]): number => medianOf(one, 'serverCpuPerRequest') / 1000;
  for (const one of crossing) {
    const added = cpuOf(one) - cpuOf(direct!);
    const share = formatFigure(added / (2 * cpu));
    lines.push(
      `crossing to a thread and back adds ${formatFigure(added)} ms of CPU, ${share} of two clones (${one.title})`,
    );
  }
  run.print(`${lines.join('\n')}\n`);
  return { figures: { structuredClone: clones, posted }, comparison, goals };
}

/** Of one request: bytes [copied, transferred] there, and back. */
async function countCopies(run: Run, form: HttpForm): Promise<readonly number[]> {
  const server = await startServer(run, 'inline', 'copies', run.pinning.server);
  const tell = async (): Promise<readonly number[]> => (await server.load(undefined, () => undefined)) as number[];
  const before = await tell();
  await askedHttp(httpPlace(server, workload.ECHO_MODEL), [form], () => undefined);
  return (await tell()).map((bytes, i) => bytes - before[i]!);
}
