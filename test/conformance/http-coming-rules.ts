// Rules for what this version does not serve yet, each with the issue that brings it, and for what is not to come.
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, errorOf, isInfer, jsonAnswer, requestText, withText } from './http-text.js';
import { recordedAnswer, splitBody, type HttpAnswer, type HttpRule } from './replay-http.js';

const RECORDED = new Map(readCases<HttpCase>('http/management.jsonl').map((testCase) => [testCase.name, testCase]));
/** Models that the recorded server had and ours has not. */
const DECOUPLED = ['count', 'countfail', 'textstream'];

/** An endpoint of an extension that is not served: refused, once method and path are right. */
function extensionRule(name: string, extension: string, path: RegExp, until?: number): HttpRule {
  return {
    name,
    reason:
      until === undefined
        ? `Needs a GPU. Answered with 501, as the protocol has it for what a server does not support.`
        : `Answered with 501 until it is served.`,
    ...(until === undefined ? {} : { until }),
    expects: (recorded, { request }) =>
      path.test(request.path) && isRouted(recorded)
        ? errorAnswer(501, `the ${extension} extension is not supported by this version of TSTriton`)
        : undefined,
  };
}

function isRouted(recorded: HttpAnswer): boolean {
  return (
    recorded.end === 'answered' &&
    recorded.status !== 405 &&
    recorded.status !== 403 &&
    errorOf(recorded) !== 'Not Found'
  );
}

function unknownModel(name: string, { request }: HttpCase): HttpAnswer {
  if (request.path.endsWith('/ready')) return errorAnswer(400, 'Model version not ready');
  if (request.path.endsWith('/stats')) return errorAnswer(400, `requested model '${name}' is not available`);
  return errorAnswer(404, `Request for unknown model: '${name}' is not found`);
}

/** The state of a server that nobody told to load or unload anything. */
function withoutLoads(testCase: HttpCase): HttpAnswer | undefined {
  const { model, name, request } = testCase;
  if (request.path === '/v2/health/ready' && name.startsWith('server ready after'))
    return recordedAnswer(RECORDED.get('get /v2/health/ready')!);
  if (/(after|only by) its load$|once loaded$/.test(name)) return unknownModel(model!, testCase);
  if (model !== 'reload' || name.startsWith('get model reload')) return undefined;
  if (isInfer(testCase)) return echo(testCase);
  const action = /^\/v2\/models\/reload(?:\/versions\/1)?(|\/ready|\/config)$/.exec(request.path)?.[1];
  return action === undefined ? undefined : recordedAnswer(RECORDED.get(`get model reload${action}`)!);
}

/** The answer of an identity to a JSON request for FP32. */
function echo(testCase: HttpCase): HttpAnswer {
  const { inputs } = JSON.parse(requestText(testCase)) as {
    readonly inputs: readonly [{ readonly shape: number[]; readonly data: number[] }];
  };
  const data = inputs[0].data.map((value) => value.toFixed(1));
  return jsonAnswer(
    200,
    `{"model_name":"reload","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[${inputs[0].shape.join()}],"data":[${data.join()}]}]}`,
  );
}

interface ModelStatistics {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Statistics with the list of models changed. */
export function changeStatistics(
  answer: HttpAnswer,
  change: (models: readonly ModelStatistics[]) => readonly ModelStatistics[],
): HttpAnswer | undefined {
  const text = answer.body.toString();
  if (!text.startsWith('{"model_stats":')) return undefined;
  const { model_stats: models } = JSON.parse(text) as { readonly model_stats: readonly ModelStatistics[] };
  return withText(answer, () => JSON.stringify({ model_stats: change(models) }));
}

/** Statistics in which the answers that came out of the cache were executions. */
function withoutCache(models: readonly ModelStatistics[]): readonly ModelStatistics[] {
  return models.map((model) => {
    if (model.name !== 'cached' || model['execution_count'] === 0) return model;
    const ran = (count: number) => ({
      compute_input: { count, ns: 1 },
      compute_infer: { count, ns: 1 },
      compute_output: { count, ns: 1 },
    });
    const none = { count: 0, ns: 0 };
    return {
      ...model,
      execution_count: 3,
      inference_count: 4,
      inference_stats: { ...(model['inference_stats'] as object), ...ran(3), cache_hit: none, cache_miss: none },
      batch_stats: [
        { batch_size: 1, ...ran(2) },
        { batch_size: 2, ...ran(1) },
      ],
    };
  });
}

/** Statistics of models that nobody asked anything. */
function untouched(models: readonly ModelStatistics[]): readonly ModelStatistics[] {
  const none = { count: 0, ns: 0 };
  return models.map((model) => ({
    ...model,
    last_inference: 0,
    inference_count: 0,
    execution_count: 0,
    inference_stats: Object.fromEntries(
      Object.keys(model['inference_stats'] as object).map((member) => [member, none]),
    ),
    batch_stats: [],
  }));
}

const OWN_PARAMETERS = /("name":"y","datatype":"BYTES","shape":\[1,1\],"data":\[")(?:[^"\\]|\\.)*"/;

export const HTTP_COMING_RULES: readonly HttpRule[] = [
  {
    name: 'restricted APIs are not there yet',
    reason: 'The option is refused, so that nobody takes an open API for a restricted one.',
    until: 4,
    allows: (ours, recorded, { server }) =>
      server === 'full' && recorded.status === 403 && [200, 405, 501].includes(ours.status ?? 0),
  },
  {
    name: 'header forwarding is not there yet',
    reason: 'The option is refused; the callable gets the parameters of the request.',
    until: 4,
    expects: (recorded, testCase) => {
      if (testCase.server !== 'full' || testCase.model !== 'params' || !isInfer(testCase)) return undefined;
      const { parameters = {} } = JSON.parse(requestText(testCase)) as { readonly parameters?: object };
      const quoted = JSON.stringify(JSON.stringify(parameters));
      return withText(recorded, (text) =>
        text.replace(OWN_PARAMETERS, (_all, before: string) => before + quoted.slice(1)),
      );
    },
  },
  {
    name: 'nothing was loaded or unloaded before',
    reason:
      'Without the model repository extension, models that a request before loaded, changed or unloaded are as they were bound.',
    until: 4,
    expects: (_recorded, testCase) => withoutLoads(testCase),
    allows: (ours, _recorded, { model, request }) =>
      model === 'reload' && request.path.endsWith('/stats') && ours.status === 200,
  },
  extensionRule('the model repository extension is not there yet', 'model repository', /^\/v2\/repository\//, 4),
  {
    name: 'other files are replayed elsewhere',
    reason: 'The recorded server with restrictions had answered requests of another file before, and counted them.',
    until: 4,
    expects: (recorded, { server }) => (server === 'full' ? changeStatistics(recorded, untouched) : undefined),
  },
  extensionRule('the trace extension is not there yet', 'trace', /\/trace\/setting$/, 4),
  extensionRule('the logging extension is not there yet', 'logging', /^\/v2\/logging$/, 4),
  extensionRule('the shared memory extension is not there yet', 'shared memory', /^\/v2\/systemsharedmemory\//, 4),
  {
    name: 'tensors in shared memory are not there yet',
    reason: 'Answered with 501, naming the region.',
    until: 4,
    expects: (recorded, testCase) => {
      const region = /"shared_memory_region": ?"([^"]*)"/.exec(requestText(testCase))?.[1];
      const refused = /must set only one|Output can't set both/.test(errorOf(recorded) ?? '');
      return region === undefined || refused
        ? undefined
        : errorAnswer(
            501,
            `shared memory region '${region}': shared memory is not supported by this version of TSTriton`,
          );
    },
  },
  extensionRule('CUDA shared memory is not served', 'shared memory', /^\/v2\/cudasharedmemory\//),
  {
    name: 'labels are in the declaration',
    reason: 'There is no file of them to name.',
    expects: (recorded) =>
      withText(recorded, (text) => text.replaceAll(/"label_filename":"[^"]+"/g, '"label_filename":""')),
  },
  {
    name: 'the response cache is not there yet',
    reason: '`bind` refuses `responseCache`; every request is executed.',
    until: 5,
    expects: (recorded) =>
      changeStatistics(recorded, withoutCache) ??
      withText(recorded, (text) => text.replace(',"response_cache":{"enable":true}', '')),
    allows: (ours, recorded, testCase) =>
      testCase.model === 'cached' && isInfer(testCase) && sameButForNumbers(ours, recorded),
  },
];

/** Whether all but the counted calls agrees. */
function sameButForNumbers(ours: HttpAnswer, recorded: HttpAnswer): boolean {
  const [ourJson, ourTail] = splitBody(ours);
  const [json, tail] = splitBody(recorded);
  const plain = (text: string) => text.replace(/"data":\[[\d,]*\]/, '"data":[]');
  return ours.status === recorded.status && plain(ourJson) === plain(json) && ourTail.length === tail.length;
}
