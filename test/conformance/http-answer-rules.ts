// Rules about answers: what the server says of itself, how errors and numbers look, and what models return.
import { readFileSync } from 'node:fs';
import { withoutTraceback } from './inference-messages.js';
import { errorAnswer, errorOf, isInfer, requestText, withError, withText } from './http-text.js';
import { changeStatistics } from './http-coming-rules.js';
import type { HttpAnswer, HttpRule } from './replay-http.js';

export const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version;

/** Extensions that server metadata of Triton names and ours does not. */
export const REFUSED_EXTENSIONS = ['sequence', 'cuda_shared_memory'];

function withoutExtensions(answer: HttpAnswer, names: readonly string[]): HttpAnswer | undefined {
  const text = answer.body.toString();
  if (!text.includes('"extensions":[')) return undefined;
  return withText(answer, (list) =>
    names.reduce((rest, name) => rest.replace(`"${name}",`, '').replace(`,"${name}"]`, ']'), list),
  );
}

/** The number of a case of the model `throws`. */
function thrown(testCase: Parameters<typeof requestText>[0]): number {
  return testCase.model === 'throws' ? Number(/"data": ?\[(\d+)/.exec(requestText(testCase))?.[1] ?? -1) : -1;
}

/** What failed requests are in statistics: not answers of the model. */
function withFailures(models: Parameters<Parameters<typeof changeStatistics>[1]>[0]): typeof models {
  return models.map((model) => {
    if (model.name !== 'throws' || model['inference_count'] !== 2) return model;
    const once = { count: 1, ns: 1 };
    return {
      ...model,
      inference_count: 1,
      inference_stats: {
        ...(model['inference_stats'] as object),
        success: once,
        fail: once,
        queue: once,
        compute_input: once,
        compute_infer: once,
        compute_output: once,
      },
    };
  });
}

/** Numbers of FP32 and FP64 data as JavaScript has them: the shortest text that reads back as the same double. */
function shortest(body: string): string {
  return body.replaceAll(
    /("datatype":"FP(?:32|64)","shape":\[[\d,]*\],"data":\[)([^\]]*)/g,
    (_all, before: string, data: string) => {
      const numbers = data.split(',').map((text) => (/^-?\d/.test(text) ? shortestNumber(text) : text));
      return before + numbers.join();
    },
  );
}

function shortestNumber(text: string): string {
  const value = Number(text);
  const shortestText = Object.is(value, -0) ? '-0' : String(value).replace('e+', 'e');
  return Number.isInteger(value) && !shortestText.includes('e') ? `${shortestText}.0` : shortestText;
}

/** Statistics of the models whose answers are no streams; undefined when that is not what the answer tells. */
function withoutStreams(answer: HttpAnswer): string | undefined {
  const streams = ['count', 'countfail', 'textstream'];
  return changeStatistics(answer, (models) => models.filter(({ name }) => !streams.includes(name)))?.body.toString();
}

export const HTTP_ANSWER_RULES: readonly HttpRule[] = [
  {
    name: 'the server says which it is',
    reason: 'Server metadata has the version of TSTriton.',
    expects: (recorded) => withText(recorded, (text) => text.replace('"version":"2.51.0"', `"version":"${VERSION}"`)),
  },
  {
    name: 'the sequence batcher and CUDA shared memory are not named',
    reason: 'They are not served.',
    expects: (recorded) => withoutExtensions(recorded, REFUSED_EXTENSIONS),
  },
  {
    name: 'models are of backend tstriton',
    reason: 'They are TypeScript functions, not files for the Python backend.',
    expects: (recorded) =>
      withText(recorded, (text) =>
        text
          .replace('"platform":"python"', '"platform":"tstriton"')
          .replace('"backend":"python"', '"backend":"tstriton"')
          .replace('"default_model_filename":"model.py"', '"default_model_filename":""'),
      ),
  },
  {
    name: 'every bound version is served',
    reason: 'Whoever binds a version wants it served; latest(1) would silently drop all but the highest.',
    expects: (recorded) =>
      withText(recorded, (text) =>
        text.replace('"version_policy":{"latest":{"num_versions":1}}', '"version_policy":{"all":{}}'),
      ),
  },
  {
    name: 'HEAD has no body',
    reason: 'RFC 9110 says so; the body that Triton sends is read as the start of the next answer.',
    expects: (recorded, { request }) =>
      request.method === 'HEAD' ? { ...recorded, body: Buffer.alloc(0) } : undefined,
  },
  {
    name: 'errors are JSON and say so',
    reason: 'Triton calls some of them text/plain though they are the same JSON as the others.',
    expects: (recorded, { request }) =>
      recorded.contentType === 'text/plain' &&
      (errorOf(recorded) !== undefined || (request.method === 'HEAD' && recorded.status === 405))
        ? { ...recorded, contentType: 'application/json' }
        : undefined,
  },
  {
    name: 'clients get messages, not tracebacks',
    reason: 'File names and lines of the server are for its log.',
    expects: (recorded) => withError(recorded, withoutTraceback),
  },
  {
    name: 'messages about results speak of TypeScript',
    reason: 'They are for who wrote the callable.',
    expects: (recorded, testCase) =>
      withError(recorded, (message) => {
        const counts = /InferenceRequest\(s\) size is:(\d+), and InferenceResponse\(s\) size is:(\d+)/.exec(message);
        if (counts !== null) {
          return `model '${testCase.model}' returned ${counts[2]} results for ${counts[1]} requests, expected one result per request`;
        }
        return message.includes("found type '<class 'str'>'")
          ? `model '${testCase.model}' returned a string, expected a record of its outputs by name or a list in declaration order`
          : message;
      }),
  },
  {
    name: 'outputs are of the declared datatype',
    reason: 'Triton passes FP64 on as it is where FP32 was declared, and typed clients read garbage.',
    expects: (recorded, testCase) =>
      thrown(testCase) === 13
        ? withText(recorded, (text) => text.replace('"datatype":"FP64"', '"datatype":"FP32"'))
        : undefined,
  },
  {
    name: 'wrong results are errors',
    reason:
      'Triton passes on an output with more rows than the request, and drops an output that was not declared: both are mistakes of the callable.',
    expects: (_recorded, testCase) => {
      if (thrown(testCase) === 17)
        return errorAnswer(500, "model 'throws' returned an output 'z' that is not declared; declared are y");
      return thrown(testCase) === 23
        ? errorAnswer(
            500,
            "output 'y' of model 'throws' has shape [2,1], expected 1 row in the first dimension, one per row of the input",
          )
        : undefined;
    },
  },
  {
    name: 'every request is answered',
    reason: 'A model that returns nothing leaves the client of Triton waiting for ever.',
    expects: (recorded, testCase) => {
      if (recorded.end !== 'timeout') return undefined;
      return thrown(testCase) === 18
        ? errorAnswer(500, "model 'throws' must return a list with one result per request, got undefined")
        : errorAnswer(
            500,
            "model 'throws' returned undefined, expected a record of its outputs by name or a list in declaration order",
          );
    },
  },
  {
    name: 'streams have response statistics',
    reason: 'Triton counts nothing of the single responses over generate_stream, and a stream that fails as a success.',
    allows: (ours, recorded) => {
      const [given, expected] = [withoutStreams(ours), withoutStreams(recorded)];
      return given !== undefined && given === expected && ours.body.includes('"response_stats":{"0":');
    },
  },
  {
    name: 'failed requests are failures in statistics',
    reason: 'Triton counts an error that a model answers with as a success.',
    expects: (recorded) => changeStatistics(recorded, withFailures),
  },
  {
    name: 'doubles have their shortest text',
    reason: 'Triton prints digits that belong to another decimal of the same double, or to a neighbour of it.',
    expects: (recorded, { request }) => {
      // A neighbour where Triton misread the number that was sent.
      const misread = /\[(123456789012345678901234567890|1e-45)\]/.exec(request.body ?? '');
      return withText(recorded, (body) => {
        const text = shortest(body);
        return misread === null || text.includes('FP32')
          ? text
          : text.replace(/"data":\[[^\]]*\]/, `"data":[${shortestNumber(misread[1]!)}]`);
      });
    },
  },
  {
    name: 'a text output that is not UTF-8 needs the binary form',
    reason: 'Triton puts the bytes into the JSON, which is none then.',
    expects: (recorded) =>
      recorded.contentType === 'application/json' && recorded.body.toString().includes('\ufffd')
        ? errorAnswer(
            400,
            "sending output 'y' via JSON is not possible: an element is not valid UTF-8. Please use the binary data format for output",
          )
        : undefined,
  },
  {
    name: 'a NUL does not end a text',
    reason: 'Triton cuts ids and string parameters there.',
    expects: (recorded, testCase) => {
      const text = requestText(testCase);
      if (text.includes('"id":"a\\u0000b"')) {
        return withText(recorded, (text) =>
          text.replace('"id":"a"', '"id":"a\\u0000b"').replace('[request id: a]', '[request id: a\\u0000b]'),
        );
      }
      return testCase.name.startsWith('parameters = {"a":"hé') && isInfer(testCase)
        ? withText(recorded, (text) => text.replace('\\"hé \\"', '\\"hé \\\\u0000 \\\\n\\"'))
        : undefined;
    },
  },
  {
    name: 'numbers in parameters are numbers',
    reason: 'JavaScript does not tell 1.0 from 1.',
    expects: (recorded, { model }) =>
      model === 'params'
        ? withText(recorded, (text) =>
            text.replace(/(\\"a\\":)(\d+)\.0\}/, (_all, name: string, digits: string) => `${name}${Number(digits)}}`),
          )
        : undefined,
  },
  {
    name: 'the first of equal parameters counts, once',
    reason: 'Triton hands it to the model twice.',
    expects: (recorded) => withText(recorded, (text) => text.replace('{\\"a\\":1,\\"a\\":1}', '{\\"a\\":1}')),
  },
  {
    name: 'an empty sequence id is none',
    reason: 'It says nothing: a callable that asks whether there is a sequence gets one answer.',
    expects: (recorded, { model }) =>
      model === 'params'
        ? withText(recorded, (text) => text.replace('\\"correlation_id\\": \\"\\"', '\\"correlation_id\\": 0'))
        : undefined,
  },
  {
    name: 'timeout and asked outputs are not shown to callables',
    reason: 'They are for the server: it keeps the timeout itself, and outputs that nobody asked for are not sent.',
    expects: (recorded, { model }) =>
      model === 'params'
        ? withText(recorded, (text) =>
            text.replace(
              /\\"requested\\": \[[^\]]*\], \\"timeout\\": \d+/,
              '\\"requested\\": [\\"info\\", \\"y\\"], \\"timeout\\": 0',
            ),
          )
        : undefined,
  },
];
