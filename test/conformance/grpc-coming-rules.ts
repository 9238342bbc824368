// Rules for what this version does not serve yet, each with the issue that brings it, and for what is not to come.
import type { GrpcCase } from './cases.js';
import { asksFor, methodName, refusal, STATUS, success, withJson, type JsonObject } from './grpc-json.js';
import { changeStatistics } from './grpc-statistics-rules.js';
import type { GrpcAnswer, GrpcRule } from './replay-grpc.js';

/** What a server says about a model that it does not know. */
function unknownModel(name: string, testCase: GrpcCase): GrpcAnswer {
  switch (methodName(testCase)) {
    case 'ModelReady':
      return success({});
    case 'ModelStatistics':
      return refusal(STATUS.INVALID_ARGUMENT, `requested model '${name}' is not available`);
    default:
      return refusal(STATUS.NOT_FOUND, `Request for unknown model: '${name}' is not found`);
  }
}

/** Answers about these models as if there were none of them, lists of models included. */
function withoutModels(recorded: GrpcAnswer, testCase: GrpcCase, names: readonly string[]): GrpcAnswer | undefined {
  const { name = '' } = asksFor(testCase);
  if (names.includes(name)) return unknownModel(name, testCase);
  return changeStatistics(recorded, (models) => models.filter((model) => !names.includes(model['name'] as string)));
}

export const GRPC_COMING_RULES: readonly GrpcRule[] = [
  {
    name: 'labels are in the declaration',
    reason: 'There is no file of them to name.',
    cases: ['ModelConfig of classify'],
    expects: (recorded, testCase) => {
      if (methodName(testCase) !== 'ModelConfig' || asksFor(testCase).name !== 'classify') return undefined;
      return withJson(recorded, ({ config }) => {
        const { output, ...rest } = config as JsonObject;
        const plain = (output as readonly JsonObject[]).map(({ label_filename: _label, ...spec }) => spec);
        return { config: { ...rest, output: plain } };
      });
    },
  },
  {
    name: 'the recorded sequence model is not bound',
    reason: 'Other recordings are of sequence models alone; these requests find no model.',
    cases: [
      'seq without sequence id',
      'seq with id but no start',
      'seq start',
      'seq middle',
      'seq end',
      'seq after the end',
      'seq id 0',
      'seq text id start and end',
      'seq negative id',
      'seq batch 2',
      'seq with a control input given',
      'ModelMetadata of seq',
      'ModelConfig of seq',
      'statistics empty name with a version',
      'statistics of all models before any inference',
    ],
    expects: (recorded, testCase) => withoutModels(recorded, testCase, ['seq']),
  },
];
