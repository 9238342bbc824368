// Rules about generate, compression, classification and forwarded headers.
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, requestText } from './http-text.js';
import { recordedAnswer, type HttpAnswer, type HttpRule } from './replay-http.js';
import { CODES } from './shared-models.js';
import { listedCases } from './listed-cases.js';

const ONE_RESPONSE = /^\{"error":"generate expects model to produce exactly 1 response/;
const STATUS_OF: Readonly<Record<string, number>> = {
  INTERNAL: 500,
  NOT_FOUND: 404,
  UNAVAILABLE: 503,
  UNSUPPORTED: 501,
};
const PLAIN = readCases<HttpCase>('http/compression.jsonl')[0]!;

function isGenerate({ request }: HttpCase): boolean {
  return /\/generate(_stream)?$/.test(request.path);
}

/** The code of the error that a model of a generate case answers with. */
function codeOf(testCase: HttpCase): string | undefined {
  if (testCase.model === 'countfail') return 'INTERNAL';
  const which = testCase.model === 'throws' ? /"x":(\d+)/.exec(requestText(testCase))?.[1] : undefined;
  if (which === undefined) return undefined;
  return Number(which) <= 2 ? 'INTERNAL' : CODES[Number(which) - 3];
}

function codings({ request }: HttpCase, name: string): readonly string[] {
  return request.headers.filter(([header]) => header.toLowerCase() === name).map(([, value]) => value);
}

/** What zlib says of these bodies. */
const CORRUPT: Readonly<Record<string, string>> = {
  'request Content-Encoding "deflate", raw deflate body': 'incorrect header check',
  'request gzip: plain body': 'incorrect header check',
  'request deflate: plain body': 'incorrect header check',
  'request gzip: cut by 1 byte': 'unexpected end of file',
  'request gzip: without its trailer': 'unexpected end of file',
  'request gzip: cut in the middle': 'unexpected end of file',
  'request gzip: cut in its header': 'unexpected end of file',
  'request gzip: wrong CRC': 'incorrect data check',
  'request gzip: junk after': 'incorrect header check',
  'request deflate: cut': 'unexpected end of file',
  'request gzip: corrupt in the middle': 'invalid distance too far back',
  'request deflate: only its header': 'unexpected end of file',
};

export const HTTP_EXTENSION_RULES: readonly HttpRule[] = [
  {
    name: 'an answer that is whole has a length',
    reason: 'Triton sends the answer of generate, which is one piece, in chunks.',
    cases: listedCases('http', 'an answer that is whole has a length'),
    expects: (recorded, testCase) =>
      isGenerate(testCase) && recorded.framing === 'chunked' && recorded.contentType === 'application/json'
        ? { ...recorded, framing: 'length', chunks: undefined }
        : undefined,
  },
  {
    name: 'a raw request goes to the only input that it needs',
    reason: 'Triton refuses one to a model with optional inputs, though a request may leave them out.',
    cases: ['raw request to optional with 8 bytes'],
    expects: (recorded, testCase) => {
      if (testCase.name !== 'raw request to optional with 8 bytes') return undefined;
      const output = { name: 'z', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } };
      const json = JSON.stringify({ model_name: 'optional', model_version: '1', outputs: [output] });
      const body = Buffer.concat([Buffer.from(json), Buffer.from(testCase.request.body_base64!, 'base64')]);
      const jsonLength = String(json.length);
      return { ...recorded, status: 200, contentType: 'application/octet-stream', jsonLength, body };
    },
  },
  {
    name: 'generate with other than one response is no success',
    reason: 'Triton answers 200 with an error in it, which clients take for the result.',
    cases: [
      'generate: textstream three words',
      'generate: textstream no word',
      'generate: count 0',
      'generate: count 2',
      'generate: count 5',
      'generate: count as a list',
      'generate: count list of two',
      'generate: count with id',
      'generate: count 40',
      'generate: countfail after 3',
    ],
    expects: (recorded) =>
      recorded.status === 200 && ONE_RESPONSE.test(recorded.body.toString()) ? { ...recorded, status: 400 } : undefined,
  },
  {
    name: 'errors of models have the status of their code in generate too',
    reason: 'Triton answers them with 400, whatever they are, though infer has the right status.',
    cases: [
      'generate: countfail before any',
      'generate: throws says no',
      'generate: throws raises',
      'generate: throws not found',
      'generate_stream: throws raises',
      'generate_stream: throws not found',
    ],
    expects: (recorded, testCase) => {
      const status = STATUS_OF[codeOf(testCase) ?? ''];
      const isModels = recorded.status === 400 && !ONE_RESPONSE.test(recorded.body.toString());
      return isGenerate(testCase) && isModels && status !== undefined ? { ...recorded, status } : undefined;
    },
  },
  {
    name: 'corrupt compressed bodies are refused',
    reason:
      'Triton uses what it can inflate, and does not look at checksums, lengths or what is missing: a damaged request becomes another one.',
    cases: Object.keys(CORRUPT),
    expects: (_recorded, { name }) => errorAnswer(400, `failed to decompress the request body: ${CORRUPT[name]}`),
  },
  {
    name: 'compressed data may have several members',
    reason: 'RFC 1952 says so; Triton stops after the first.',
    cases: ['request gzip: JSON split over two members'],
    expects: (_recorded, { name }) =>
      name === 'request gzip: JSON split over two members' ? plainAnswer() : undefined,
  },
  {
    name: 'white space around a header is not part of it',
    reason: 'RFC 9110, section 5.5.',
    cases: ['request Content-Encoding "gzip ", gzip body'],
    expects: (_recorded, testCase) =>
      codings(testCase, 'content-encoding').includes('gzip ') ? plainAnswer() : undefined,
  },
  {
    name: 'headers of one name are one list',
    reason: 'RFC 9110, section 5.2: two Content-Encoding headers mean that it was compressed twice.',
    cases: ['gzip twice in headers'],
    expects: (_recorded, testCase) =>
      codings(testCase, 'content-encoding').length === 2
        ? { ...errorAnswer(501, 'Unsupported compression type'), others: ['accept-encoding: gzip, deflate'] }
        : undefined,
  },
  {
    name: 'Accept-Encoding is read as the RFC has it',
    reason: 'RFC 9110, section 12.5.3: codings in any case, x-gzip, and spaces around weights.',
    cases: [
      'Accept-Encoding "gzip; q=0.5"',
      'Accept-Encoding "gzip ; q=0.5"',
      'Accept-Encoding "GZIP"',
      'Accept-Encoding "Gzip"',
      'Accept-Encoding "x-gzip"',
      'Accept-Encoding "  gzip  "',
    ],
    expects: (recorded, testCase) =>
      recorded.coding === undefined &&
      codings(testCase, 'accept-encoding').some((value) =>
        /^\s*(GZIP|Gzip|x-gzip|gzip ?; ?q=0\.5|gzip)\s*$/.test(value),
      ) &&
      recorded.status === 200 &&
      testCase.request.path.endsWith('/infer')
        ? { ...recorded, coding: 'gzip' }
        : undefined,
  },
  {
    name: 'a number of classes is not cut to 32 bits',
    reason: 'Triton takes 4294967297 for 1.',
    cases: ['classification 4294967297'],
    expects: (recorded, { request }) =>
      request.body?.includes('"classification":4294967297') === true
        ? {
            ...recorded,
            body: Buffer.from(
              '{"model_name":"classify","model_version":"1","outputs":[{"name":"scores","datatype":"BYTES","shape":[1,5],"data":["100000.250000:3:bird and wing","0.500000:1:dog","0.500000:4:snäke","0.100000:0:cat","-2.000000:2:fish"]}]}',
            ),
          }
        : undefined,
  },
  {
    name: 'classes of text are refused',
    reason: 'They end the whole server process of Triton.',
    cases: ['classification on id_bytes'],
    expects: (recorded, { name }) =>
      recorded.end === 'closed' && name === 'classification on id_bytes'
        ? errorAnswer(400, "class result not available for output due to unsupported type 'BYTES'")
        : undefined,
  },
];

function plainAnswer(): HttpAnswer {
  return recordedAnswer(PLAIN);
}
