// Fast streams of responses, and meanwhile the health of the server as other clients see it: how much the ones cost the
// others.

import { goalFor, type Goal } from '../goals.js';
import type { ProbeOrder, ProbeReport } from '../load/ready-probe.js';
import type { StreamsOrder, StreamsReport } from '../load/endless-streams.js';
import { median } from '../statistics.js';
import { formatFigure, formatTable } from '../table.js';
import { RESPONSES, startServer, TITLES, WIRES } from './callables-part.js';
import type { Part, Run, ServerName } from './callables-part.js';

/** How many streams at a time, and how many clients that ask for health meanwhile. */
const LOADS = [
  { streams: 0, clients: 1 },
  { streams: 1, clients: 0 },
  { streams: 1, clients: 1 },
  { streams: 8, clients: 0 },
  { streams: 8, clients: 8 },
] as const;
type Load = (typeof LOADS)[number];

interface FairSample {
  readonly server: ServerName;
  readonly wire: StreamsOrder['wire'];
  readonly load: Load;
  readonly streams: StreamsReport | undefined;
  readonly probes: ProbeReport | undefined;
  /** Microseconds of the server process. */
  readonly serverCpu: number;
}

/** The server on one core, both clients on another, as with the streams alone. */
export async function measureFairness(run: Run): Promise<Part> {
  const streamer = await run.start('./load/callables-client.js', run.pinning.client);
  const prober = await run.start('./load/callables-client.js', run.pinning.client);
  const [milliseconds, rounds] = run.isQuick
    ? [300, 1]
    : [Math.min(run.timing.seconds * 1000, 2000), Math.min(run.timing.rounds, 5)];
  const samples: FairSample[] = [];
  const wires = ['grpc', 'sse'] as const;
  for (const server of run.names) {
    const process = await startServer(run, server, 'stream', run.pinning.server);
    for (let round = -1; round < rounds; round++) {
      for (const wire of wires) {
        for (const load of LOADS) {
          const port = process.port(wire === 'grpc' ? 'grpcPort' : 'httpPort');
          const streams: StreamsOrder = { kind: 'streams', wire, port, milliseconds, count: RESPONSES, ...load };
          const probes: ProbeOrder = {
            kind: 'ready',
            path: '/v2/health/live',
            port: process.port('httpPort'),
            milliseconds,
            spin: false,
            clients: load.clients,
          };
          const before = await process.usage();
          const [streamed, probed] = await Promise.all([
            load.streams === 0 ? undefined : streamer.load(streams, () => undefined),
            load.clients === 0 ? undefined : prober.load(probes, () => undefined),
          ]);
          const serverCpu = (await process.usage()).cpu - before.cpu;
          if (round < 0) continue;
          samples.push({
            server,
            wire,
            load,
            streams: streamed as StreamsReport | undefined,
            probes: probed as ProbeReport | undefined,
            serverCpu,
          });
        }
      }
    }
    await process.stop();
  }
  const goals: Goal[] = [];
  const rows = run.names.flatMap((server) =>
    wires.flatMap((wire) =>
      LOADS.map((load) => {
        const own = samples.filter(
          (sample) => sample.server === server && sample.wire === wire && sample.load === load,
        );
        const rates = own.flatMap(({ streams }) => streams?.responsesPerSecond ?? []);
        const firsts = own.flatMap(({ streams }) => streams?.firstMs ?? []);
        const cpu = own.flatMap(({ streams, serverCpu }) =>
          streams === undefined ? [] : serverCpu / streams.responses,
        );
        const busy = own.flatMap(({ streams }) => streams?.busy ?? []);
        const of = (figure: keyof ProbeReport) => own.flatMap(({ probes }) => probes?.[figure] ?? []);
        const title = `${WIRES[wire]}, ${TITLES[server]}`;
        if (load.streams > 0 && load.clients > 0) {
          const what = `${title}, ${load.streams} streams, ${load.clients} clients`;
          goals.push(
            goalFor('P10', `${what}: responses/s`, median(rates)),
            goalFor('P10', `${what}: health p50 ms`, median(of('p50'))),
          );
        }
        const figures = [rates, firsts, cpu, of('p50'), of('p99'), of('max'), of('lateness')];
        const shown = figures.map((values) => (values.length === 0 ? '' : formatFigure(median(values))));
        const share = busy.length === 0 ? '' : `${(median(busy) * 100).toFixed(0)} %`;
        return [title, String(load.streams), String(load.clients), ...shown, share];
      }),
    ),
  );
  const head = [
    'server',
    'streams',
    'health clients',
    'responses/s',
    'first ms',
    'server CPU us each',
    'health p50 ms',
    'p99 ms',
    'worst ms',
    'client late ms (p99)',
    'reader busy',
  ];
  const title = `${RESPONSES} responses a stream, again and again for ${milliseconds / 1000} s; /v2/health/live every 5 ms of each client`;
  run.print(`${title}\n${formatTable(head, rows)}\n`);
  return { figures: { milliseconds, samples }, goals };
}
