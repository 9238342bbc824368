// What our server is to reach beside the others, from their comparison with it.

import type { Comparison, Measured } from '../comparison.js';
import type { Goal } from '../goals.js';
import { median, pairedRatios } from '../statistics.js';

type Figure = 'requestsPerSecond' | 'p50' | 'serverCpuPerRequest';

interface Wanted {
  readonly id: string;
  readonly peer: string;
  /** Of our figure to the peer's. */
  readonly figure: Figure;
  readonly shape: '1x1' | '16x1';
  readonly wires: readonly string[];
  readonly bounds: readonly [target: number, stretch: number];
}

const BOTH = ['http-binary', 'grpc'];

const WANTED: readonly Wanted[] = [
  { id: 'P15', peer: 'pytriton', figure: 'requestsPerSecond', shape: '16x1', wires: BOTH, bounds: [20, 40] },
  { id: 'P15', peer: 'pytriton', figure: 'p50', shape: '1x1', wires: BOTH, bounds: [1 / 10, 1 / 15] },
  { id: 'P15', peer: 'pytriton', figure: 'serverCpuPerRequest', shape: '16x1', wires: BOTH, bounds: [1 / 20, 1 / 40] },
  {
    id: 'P17',
    peer: 'triton-core',
    figure: 'requestsPerSecond',
    shape: '16x1',
    wires: ['http-binary'],
    bounds: [1, 1.5],
  },
  { id: 'P17', peer: 'triton-core', figure: 'requestsPerSecond', shape: '16x1', wires: ['grpc'], bounds: [1.5, 3] },
  { id: 'P18', peer: 'triton-python', figure: 'requestsPerSecond', shape: '16x1', wires: BOTH, bounds: [3, 8] },
  { id: 'P18', peer: 'triton-python', figure: 'p50', shape: '1x1', wires: BOTH, bounds: [0.8, 0.6] },
];

const WORDS: Readonly<Record<Figure, string>> = {
  requestsPerSecond: 'req/s',
  p50: 'p50',
  serverCpuPerRequest: 'CPU a request',
};

/** Comparisons are named `wire shape`, and measure ours, with its own thread, as `thread`. */
export function peerGoals(
  comparisons: readonly Comparison[],
  wireTitles: Readonly<Record<string, string>>,
): readonly Goal[] {
  return WANTED.flatMap(({ id, peer, figure, shape, wires, bounds: [target, stretch] }) =>
    wires.flatMap((wire): Goal[] => {
      const measured = comparisons.find((one) => one.id === `${wire} ${shape}`)?.measured ?? [];
      const ours = measured.find(({ server }) => server === 'thread');
      const theirs = measured.find(({ server }) => server === peer);
      if (!ours || !theirs) return [];
      const valuesOf = ({ samples }: Measured): readonly number[] => samples.map((sample) => sample[figure]);
      const got = median(pairedRatios(valuesOf(ours), valuesOf(theirs)));
      const what = `${wireTitles[wire]} ${shape}: ${WORDS[figure]} x ${theirs.title}`;
      return [{ id, what, got, bound: target < stretch ? 'at least' : 'at most', target, stretch }];
    }),
  );
}
