// The recordings, in families that are judged by the same rules. What the rules make of them follows from the recordings
// alone, so that no server has to run to say which rule covers which case, or whether a wrong answer would be noticed.
import { BIND_RULES } from './bind-rules.js';
import { readCases, type BindCase, type GrpcCase, type HttpCase, type SchedulerCase } from './cases.js';
import type { ClientCase } from './client-cases.js';
import { CLIENT_RULES } from './client-rules.js';
import { DECORATOR_RULES } from './decorator-rules.js';
import { ERROR_RULES } from './error-rules.js';
import { GRPC_RULES } from './grpc-rules.js';
import { HTTP_RULES } from './http-rules.js';
import type { ErrorCase, LifecycleCase } from './lifecycle-cases.js';
import { LIFECYCLE_RULES } from './lifecycle-rules.js';
import { METRICS_RULES } from './metrics-rules.js';
import type { DecoratorCase, ValidationCase } from './pytriton-cases.js';
import * as bind from './replay-bind.js';
import * as clients from './replay-clients.js';
import * as decorators from './replay-decorators.js';
import * as errors from './replay-errors.js';
import * as grpc from './replay-grpc.js';
import * as http from './replay-http.js';
import * as lifecycle from './replay-lifecycle.js';
import * as metrics from './replay-metrics.js';
import * as scheduler from './replay-scheduler.js';
import * as validation from './replay-validation.js';
import { GRPC_FILES, HTTP_FILES, type Replays } from './replays.js';
import { expectationOf, Verdict, type Differences, type Expectation, type Rule } from './rules.js';
import { SCHEDULER_RULES } from './scheduler-rules.js';
import { VALIDATION_RULES } from './validation-rules.js';

export interface Family {
  readonly title: string;
  /** What the rules make of each file; nothing is asked. */
  readonly predict: () => Promise<Replays>;
  /** Hands every case to `visit`, with what our answer must be. */
  readonly expectations: (visit: Visit) => Promise<void>;
}

export type Visit = <Answer>(expected: Expected<Answer>) => void;

export interface Expected<Answer> {
  readonly name: string;
  readonly expectation: Expectation<Answer>;
  readonly differences: Differences<Answer>;
  /** Whether answers differ in nothing but what their recording says nothing about. */
  readonly isUntold: (wrong: Answer, expected: Answer) => boolean;
}

interface Recorded<Case, Answer> {
  readonly testCase: Case;
  readonly recorded: Answer;
}

interface Judged<Case, Answer> {
  readonly rules: readonly Rule<Case, Answer>[];
  readonly differences: Differences<Answer>;
  readonly isUntold?: Expected<Answer>['isUntold'];
  /** By file. */
  readonly files: Readonly<Record<string, () => Promise<readonly Recorded<Case, Answer>[]>>>;
}

function family<Case extends { readonly name: string }, Answer>(
  title: string,
  { rules, differences, isUntold = () => false, files }: Judged<Case, Answer>,
): Family {
  return {
    title,
    async predict() {
      const replays: Record<string, Replays[string]> = {};
      for (const [file, read] of Object.entries(files)) {
        const verdict = new Verdict(rules, differences);
        for (const exchange of await read()) verdict.expect(exchange);
        replays[file] = verdict.replay();
      }
      return replays;
    },
    async expectations(visit) {
      for (const read of Object.values(files)) {
        for (const exchange of await read()) {
          const { name } = exchange.testCase;
          visit({ name, expectation: expectationOf(rules, exchange, differences), differences, isUntold });
        }
      }
    },
  };
}

/** Reads a file of cases, each with the answer that was recorded. */
function recordings<Line, Case, Answer>(
  file: string,
  caseOf: (line: Line) => Case,
  recordedOf: (line: Line) => Answer,
): () => Promise<readonly Recorded<Case, Answer>[]> {
  return () =>
    Promise.resolve(readCases<Line>(file).map((line) => ({ testCase: caseOf(line), recorded: recordedOf(line) })));
}

const same = <T>(value: T): T => value;
const byName = <T>(names: readonly string[], read: (name: string) => T) =>
  Object.fromEntries(names.map((name) => [name, read(name)]));

export const FAMILIES: readonly Family[] = [
  family('HTTP', {
    rules: HTTP_RULES,
    differences: http.differencesOf,
    files: byName(HTTP_FILES, (file) =>
      recordings<HttpCase, HttpCase, http.HttpAnswer>(`http/${file}.jsonl`, same, http.comparableRecorded),
    ),
  }),
  family('Metrics', {
    rules: METRICS_RULES,
    differences: http.differencesOf,
    files: {
      metrics: recordings<HttpCase, HttpCase, http.HttpAnswer>('http/metrics.jsonl', same, (testCase) =>
        metrics.comparable(http.recordedAnswer(testCase)),
      ),
    },
  }),
  family('gRPC', {
    rules: GRPC_RULES,
    differences: grpc.differencesOf,
    // The bytes of a message whose JSON is compared depend on the order of a map, or on a rule that changed it.
    isUntold: ({ bytes }, expected) => expected.json !== null && expected.bytes === undefined && bytes !== undefined,
    files: byName(GRPC_FILES, (file) =>
      recordings<GrpcCase, GrpcCase, grpc.GrpcAnswer>(`grpc/${file}.jsonl`, same, grpc.comparableRecorded),
    ),
  }),
  family('`bind`', {
    rules: BIND_RULES,
    differences: bind.differencesOf,
    files: {
      'model-config': recordings<BindCase, bind.NamedCase, bind.BindAnswer>(
        'pytriton/model-config.jsonl',
        bind.named,
        bind.recordedAnswer,
      ),
    },
  }),
  family('Decorators', {
    rules: DECORATOR_RULES,
    differences: decorators.differencesOf,
    files: {
      decorators: recordings<DecoratorCase, DecoratorCase, decorators.DecoratorAnswer>(
        'pytriton/decorators.jsonl',
        same,
        decorators.recordedAnswer,
      ),
    },
  }),
  family('Outputs', {
    rules: VALIDATION_RULES,
    differences: validation.differencesOf,
    files: {
      validation: recordings<ValidationCase, ValidationCase, validation.ValidationAnswer>(
        'pytriton/validation.jsonl',
        validation.labelled,
        validation.recordedAnswer,
      ),
    },
  }),
  family('Life cycle', {
    rules: LIFECYCLE_RULES,
    differences: lifecycle.differencesOf,
    files: {
      lifecycle: recordings<LifecycleCase, LifecycleCase, lifecycle.LifecycleAnswer>(
        'pytriton/lifecycle.jsonl',
        lifecycle.labelled,
        lifecycle.recordedAnswer,
      ),
    },
  }),
  family('Errors of callables', {
    rules: ERROR_RULES,
    differences: errors.differencesOf,
    files: {
      errors: recordings<ErrorCase, ErrorCase, errors.ErrorAnswer>(
        'pytriton/errors.jsonl',
        same,
        errors.recordedAnswer,
      ),
    },
  }),
  family('Clients', {
    rules: CLIENT_RULES,
    differences: clients.differencesOf,
    files: {
      clients: recordings<ClientCase, ClientCase, clients.ClientAnswer>(
        'pytriton/clients.jsonl',
        clients.labelled,
        clients.recordedAnswer,
      ),
    },
  }),
  family('Scheduling', {
    rules: SCHEDULER_RULES,
    differences: scheduler.differencesOf,
    isUntold: scheduler.isUntold,
    files: { scenarios: async () => scheduler.recordedOutcomes(readCases<SchedulerCase>('scheduler/scenarios.jsonl')) },
  }),
];
