// What our server is to reach beside the others, from their comparison with it.

import type { Comparison, Measured } from '../comparison.js';
import { goalFor, type Goal } from '../goals.js';
import { median, pairedRatios } from '../statistics.js';

type Figure = 'requestsPerSecond' | 'p50' | 'serverCpuPerRequest';

interface Compared {
  readonly id: string;
  readonly ours: readonly ('thread' | 'inline' | 'alone' | 'alone-inline')[];
  readonly peer: string;
  /** Of our figure to the peer's. */
  readonly figure: Figure;
  readonly shape: '1x1' | '16x1';
}

const COMPARED: readonly Compared[] = [
  { id: 'P15', ours: ['thread'], peer: 'pytriton', figure: 'requestsPerSecond', shape: '16x1' },
  { id: 'P15', ours: ['thread'], peer: 'pytriton', figure: 'p50', shape: '1x1' },
  { id: 'P15', ours: ['thread'], peer: 'pytriton', figure: 'serverCpuPerRequest', shape: '16x1' },
  { id: 'P17', ours: ['thread', 'inline'], peer: 'triton-core', figure: 'requestsPerSecond', shape: '16x1' },
  { id: 'P18', ours: ['thread'], peer: 'triton-python', figure: 'requestsPerSecond', shape: '16x1' },
  { id: 'P18', ours: ['thread'], peer: 'triton-python', figure: 'p50', shape: '1x1' },
  { id: 'P22', ours: ['alone', 'alone-inline'], peer: 'triton-core', figure: 'requestsPerSecond', shape: '16x1' },
  { id: 'P22', ours: ['alone', 'alone-inline'], peer: 'pytriton-alone', figure: 'requestsPerSecond', shape: '16x1' },
];

/** Our server with its own thread goes without saying. */
const OURS = {
  thread: '',
  inline: ', serverThread: false',
  alone: ', batching: false',
  'alone-inline': ', batching: false, serverThread: false',
} as const;

const WORDS: Readonly<Record<Figure, string>> = {
  requestsPerSecond: 'req/s',
  p50: 'p50',
  serverCpuPerRequest: 'CPU a request',
};

/** Comparisons are named `wire shape`. */
export function peerGoals(
  comparisons: readonly Comparison[],
  wireTitles: Readonly<Record<string, string>>,
): readonly Goal[] {
  const goals: Goal[] = [];
  for (const { id, ours, peer, figure, shape } of COMPARED) {
    for (const [wire, title] of Object.entries(wireTitles)) {
      const measured = comparisons.find((one) => one.id === `${wire} ${shape}`)?.measured ?? [];
      const theirs = measured.find(({ server }) => server === peer);
      for (const name of ours) {
        const own = measured.find(({ server }) => server === name);
        if (!own || !theirs) continue;
        const valuesOf = ({ samples }: Measured): readonly number[] => samples.map((sample) => sample[figure]);
        const what = `${title} ${shape}${OURS[name]}: ${WORDS[figure]} x ${theirs.title}`;
        goals.push(goalFor(id, what, median(pairedRatios(valuesOf(own), valuesOf(theirs)))));
      }
    }
  }
  return goals;
}
