// Where our answers to failing callables differ from PyTriton's on purpose.
import type { ErrorRule } from './replay-errors.js';
import { listedCases } from './listed-cases.js';

/** A rule for named cases; `answer` says what ours is instead. */
function instead(name: string, reason: string, answer: string, ...cases: readonly string[]): ErrorRule {
  return { name, reason, cases, expects: () => answer };
}

export const ERROR_RULES: readonly ErrorRule[] = [
  {
    name: 'clients are not shown the server',
    reason: 'PyTriton sends the traceback with file names and source lines to every client.',
    cases: listedCases('errors', 'clients are not shown the server'),
    expects: (recorded) => recorded.replaceAll('…', ''),
  },
  {
    name: 'a NUL ends no text',
    reason: "PyTriton's clients get the text up to it.",
    cases: ['unicode'],
    expects: (recorded, { name }) =>
      name === 'unicode' ? recorded.replaceAll('cut', JSON.stringify('zażółć 漢字 \0 after')) : undefined,
  },
  {
    name: 'a text too long for gRPC is cut',
    reason: 'Over PyTriton it becomes RESOURCE_EXHAUSTED in the client, without a word of it.',
    cases: ['long_text'],
    expects: (recorded, { name }) =>
      name === 'long_text' ? recorded.replace('8 without its text', '13 cut') : undefined,
  },
  instead(
    'generators are for decoupled models',
    'PyTriton serves those with one step; with none or more its client waits for ever, and so do the next ones.',
    'refused at bind',
    'generator-one-yield-on-ordinary-model',
    'generator-no-yield-on-ordinary-model',
    'generator-three-yields-on-ordinary-model',
  ),
  {
    name: 'wrong steps are told in words of TypeScript',
    reason: 'PyTriton tells its own traceback.',
    cases: ['decoupled-bad-second-yield'],
    expects: (recorded) =>
      recorded.replace(
        /"ValueError: Number of outputs.*"/,
        '"model \'decoupled-bad-second-yield\' returned 0 results for 1 requests, expected one result per request"',
      ),
  },
  {
    name: 'an unrecoverable error is answered at once',
    reason: 'PyTriton takes 20 s, in which it refuses new connections.',
    cases: ['PyTritonUnrecoverableError-serve', 'PyTritonUnrecoverableError-run-alive'],
    expects: (recorded) => recorded.replace(' late, ', ' at once, '),
  },
  {
    name: 'serve() fails with the unrecoverable error',
    reason: 'With exit code 0, as in PyTriton, nothing that supervises the process starts it anew.',
    cases: ['PyTritonUnrecoverableError-serve'],
    expects: (recorded, { how }) => (how === 'serve' ? recorded.replace('exit 0', 'exit 1') : undefined),
  },
];
