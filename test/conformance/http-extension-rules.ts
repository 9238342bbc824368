// Rules about generate, compression, classification and forwarded headers.
import { unzipSync } from 'node:zlib';
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, errorOf, requestText } from './http-text.js';
import { recordedAnswer, requestBytes, type HttpAnswer, type HttpRule } from './replay-http.js';
import { CODES } from './shared-models.js';

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

/** Whether the body is not what its Content-Encoding says. */
function isCorrupt(testCase: HttpCase): boolean {
  if (!['gzip', 'deflate'].includes(codings(testCase, 'content-encoding')[0]?.trim() ?? '')) return false;
  const bytes = requestBytes(testCase);
  const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
  try {
    unzipSync(body);
    return false;
  } catch {
    return body.length > 0;
  }
}

export const HTTP_EXTENSION_RULES: readonly HttpRule[] = [
  {
    name: 'an answer that is whole has a length',
    reason: 'Triton sends the answer of generate, which is one piece, in chunks.',
    expects: (recorded, testCase) =>
      isGenerate(testCase) && recorded.framing === 'chunked' && recorded.contentType === 'application/json'
        ? { ...recorded, framing: 'length' }
        : undefined,
  },
  {
    name: 'generate with other than one response is no success',
    reason: 'Triton answers 200 with an error in it, which clients take for the result.',
    expects: (recorded) =>
      recorded.status === 200 && ONE_RESPONSE.test(recorded.body.toString()) ? { ...recorded, status: 400 } : undefined,
  },
  {
    name: 'errors of models have the status of their code in generate too',
    reason: 'Triton answers them with 400, whatever they are, though infer has the right status.',
    expects: (recorded, testCase) => {
      const status = STATUS_OF[codeOf(testCase) ?? ''];
      const isModels = recorded.status === 400 && !ONE_RESPONSE.test(recorded.body.toString());
      return isGenerate(testCase) && isModels && status !== undefined ? { ...recorded, status } : undefined;
    },
  },
  {
    name: 'the counter of calls goes on',
    reason: 'The recorded server was a fresh one; ours has answered the requests of the other files before.',
    allows: (ours, recorded, testCase) => {
      const uncounted = (answer: HttpAnswer) => answer.body.toString().replace(/"calls":\d+/, '"calls":1');
      return isGenerate(testCase) && testCase.model === 'cached' && uncounted(ours) === uncounted(recorded);
    },
  },
  {
    name: 'corrupt compressed bodies are refused',
    reason:
      'Triton uses what it can inflate, and does not look at checksums, lengths or what is missing: a damaged request becomes another one.',
    allows: (ours, _recorded, testCase) =>
      ours.status === 400 &&
      isCorrupt(testCase) &&
      errorOf(ours)?.startsWith('failed to decompress the request body: ') === true,
  },
  {
    name: 'compressed data may have several members',
    reason: 'RFC 1952 says so; Triton stops after the first.',
    expects: (_recorded, { name }) =>
      name === 'request gzip: JSON split over two members' ? plainAnswer() : undefined,
  },
  {
    name: 'white space around a header is not part of it',
    reason: 'RFC 9110, section 5.5.',
    expects: (_recorded, testCase) =>
      codings(testCase, 'content-encoding').includes('gzip ') ? plainAnswer() : undefined,
  },
  {
    name: 'headers of one name are one list',
    reason: 'RFC 9110, section 5.2: two Content-Encoding headers mean that it was compressed twice.',
    expects: (_recorded, testCase) =>
      codings(testCase, 'content-encoding').length === 2 ? errorAnswer(501, 'Unsupported compression type') : undefined,
  },
  {
    name: 'Accept-Encoding is read as the RFC has it',
    reason: 'RFC 9110, section 12.5.3: codings in any case, x-gzip, and spaces around weights.',
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
    expects: (recorded, { name }) =>
      recorded.end === 'closed' && name === 'classification on id_bytes'
        ? errorAnswer(400, "class result not available for output due to unsupported type 'BYTES'")
        : undefined,
  },
];

function plainAnswer(): HttpAnswer {
  return recordedAnswer(PLAIN);
}
