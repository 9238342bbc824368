// Rules about answers: what the server says of itself, how errors and numbers look, and what models return.
import { readFileSync } from 'node:fs';
import { withoutTraceback } from './inference-messages.js';
import { errorAnswer, errorOf, isInfer, requestText, withError, withText } from './http-text.js';
import type { HttpAnswer, HttpRule } from './replay-http.js';
import { listedCases } from './listed-cases.js';

export const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version;

/** Extensions that server metadata of Triton names and ours does not. */
export const REFUSED_EXTENSIONS = ['cuda_shared_memory'];

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

const POSTED = /\/(infer|generate|generate_stream|index|load|unload|register|unregister)$/;
const READ_AND_CHANGED = /\/(trace\/setting|logging)$/;

function allowedMethods(path: string): string {
  if (POSTED.test(path)) return 'POST';
  return READ_AND_CHANGED.test(path) ? 'GET, POST' : 'GET';
}

export const HTTP_ANSWER_RULES: readonly HttpRule[] = [
  {
    name: 'the server says which it is',
    reason: 'Server metadata has the version of TSTriton.',
    cases: [
      'get /v2',
      'get with a body on /v2',
      'GET on /v2 with Accept text/html',
      'GET on /v2 with Accept-Encoding gzip',
      'GET on /v2 with Origin',
      'get path /v2?x=1',
      'get path http://localhost/v2',
      'restricted: GET /v2 without the key',
      'restricted: GET /v2 with the key',
      'restricted: GET /v2 with a wrong value',
      'restricted: GET /v2 with the key in capitals',
    ],
    expects: (recorded) => withText(recorded, (text) => text.replace('"version":"2.51.0"', `"version":"${VERSION}"`)),
  },
  {
    name: 'CUDA shared memory is not named',
    reason: 'It is not served.',
    cases: [
      'get /v2',
      'get with a body on /v2',
      'GET on /v2 with Accept text/html',
      'GET on /v2 with Accept-Encoding gzip',
      'GET on /v2 with Origin',
      'get path /v2?x=1',
      'get path http://localhost/v2',
      'restricted: GET /v2 without the key',
      'restricted: GET /v2 with the key',
      'restricted: GET /v2 with a wrong value',
      'restricted: GET /v2 with the key in capitals',
    ],
    expects: (recorded) => withoutExtensions(recorded, REFUSED_EXTENSIONS),
  },
  {
    name: 'models are of backend tstriton',
    reason: 'They are TypeScript functions, not files for the Python backend.',
    cases: listedCases('http', 'models are of backend tstriton'),
    expects: (recorded) =>
      withText(recorded, (text) =>
        text
          .replace('"platform":"python"', '"platform":"tstriton"')
          .replace('"backend":"python"', '"backend":"tstriton"')
          .replace('"default_model_filename":"model.py"', '"default_model_filename":""'),
      ),
  },
  {
    name: 'labels are in the declaration',
    reason: 'There is no file of them to name.',
    cases: ['get model classify/config'],
    expects: (recorded) =>
      withText(recorded, (text) => text.replaceAll(/"label_filename":"[^"]+"/g, '"label_filename":""')),
  },
  {
    name: 'every bound version is served',
    reason: 'Whoever binds a version wants it served; latest(1) would silently drop all but the highest.',
    cases: listedCases('http', 'every bound version is served'),
    expects: (recorded) =>
      withText(recorded, (text) =>
        text.replace('"version_policy":{"latest":{"num_versions":1}}', '"version_policy":{"all":{}}'),
      ),
  },
  {
    name: 'HEAD has no body',
    reason: 'RFC 9110 says so; the body that Triton sends is read as the start of the next answer.',
    cases: listedCases('http', 'HEAD has no body'),
    expects: (recorded, { request }) =>
      request.method === 'HEAD' ? { ...recorded, body: Buffer.alloc(0) } : undefined,
  },
  {
    name: 'a refused method is answered with those that are allowed',
    reason: 'RFC 9110, section 15.5.6.',
    cases: listedCases('http', 'a refused method is answered with those that are allowed'),
    expects: (recorded, { request }) =>
      recorded.status === 405 && request.method !== 'CONNECT'
        ? { ...recorded, others: [`allow: ${allowedMethods(request.path)}`, ...recorded.others] }
        : undefined,
  },
  {
    name: 'errors are JSON and say so',
    reason: 'Triton calls some of them text/plain though they are the same JSON as the others.',
    cases: listedCases('http', 'errors are JSON and say so'),
    expects: (recorded, { request }) =>
      recorded.contentType === 'text/plain' &&
      (errorOf(recorded) !== undefined || (request.method === 'HEAD' && recorded.status === 405))
        ? { ...recorded, contentType: 'application/json' }
        : undefined,
  },
  {
    name: 'clients get messages, not tracebacks',
    reason: 'File names and lines of the server are for its log.',
    cases: [
      'addsub inputs: inner sizes disagree',
      'throws, case 1',
      'throws, case 2',
      'generate: throws raises',
      'generate_stream: throws raises',
    ],
    expects: (recorded) => withError(recorded, withoutTraceback),
  },
  {
    name: 'messages about results speak of TypeScript',
    reason: 'They are for who wrote the callable.',
    cases: ['throws, case 19', 'throws, case 21', 'throws, case 24'],
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
    cases: ['throws, case 13'],
    expects: (recorded, testCase) =>
      thrown(testCase) === 13
        ? withText(recorded, (text) => text.replace('"datatype":"FP64"', '"datatype":"FP32"'))
        : undefined,
  },
  {
    name: 'wrong results are errors',
    reason:
      'Triton passes on an output with more rows than the request, and drops an output that was not declared: both are mistakes of the callable.',
    cases: ['throws, case 17', 'throws, case 23'],
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
    cases: ['throws, case 18 (returns nothing): no answer', 'throws, case 20 (returns nothing): no answer'],
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
    name: 'doubles have their shortest text',
    reason: 'Triton prints digits that belong to another decimal of the same double, or to a neighbour of it.',
    cases: [
      'FP32 value 18446744073709551616',
      'FP32 value 123456789012345678901234567890',
      'FP64 value 18446744073709551615',
      'FP64 value 18446744073709551616',
      'FP64 value 123456789012345678901234567890',
      'FP32 printing 3.4028235e38',
      'FP64 printing 1e-45',
      'FP32 printing 1.17549435e-38',
      'FP32 printing 0.3',
      'FP32 printing 1e21',
      'FP32 printing 1e-6',
      'FP32 printing 3.14159265358979',
      'FP32 many values at once',
      'FP64 many values at once',
    ],
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
    cases: ['BYTES binary in, JSON out, not UTF-8'],
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
    cases: ['id = "a\\u0000b"', 'id = "a\\u0000b" in an error', 'parameters = {"a":"hé \\u0000 \\n"}'],
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
    cases: [
      'parameters = {"a":1.0}',
      'parameters = {"a":1e3}',
      'parameters = {"a":9223372036854775808}',
      'parameters = {"a":18446744073709551615}',
      'parameters = {"a":18446744073709551616}',
      'generate: params with large integer',
      'generate_stream: params with large integer',
    ],
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
    cases: ['parameters = {"a":1,"a":2}'],
    expects: (recorded) => withText(recorded, (text) => text.replace('{\\"a\\":1,\\"a\\":1}', '{\\"a\\":1}')),
  },
  {
    name: 'an empty sequence id is none',
    reason: 'It says nothing: a callable that asks whether there is a sequence gets one answer.',
    cases: ['parameters = {"sequence_id":""}'],
    expects: (recorded, { model }) =>
      model === 'params'
        ? withText(recorded, (text) => text.replace('\\"correlation_id\\": \\"\\"', '\\"correlation_id\\": 0'))
        : undefined,
  },
  {
    name: 'timeout and asked outputs are not shown to callables',
    reason: 'They are for the server: it keeps the timeout itself, and outputs that nobody asked for are not sent.',
    cases: [
      'parameters = {"timeout":1}',
      'parameters = {"timeout":5000000}',
      'parameters = {"timeout":18446744073709551615}',
      'params: one output',
    ],
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
