// Rules about requests: what is malformed, and what is refused that Triton takes.
import { emptyBatch, inRequestOrder, laterInputDisagrees, X_MISSING } from './inference-messages.js';
import type { HttpCase } from './cases.js';
import { errorAnswer, errorOf, isInfer, malformedAnswer, requestText, withError } from './http-text.js';
import type { HttpRule } from './replay-http.js';
import { listedCases } from './listed-cases.js';

/** The texts of Triton's JSON library and of the code that asks it. */
const JSON_MISTAKE =
  /^(failed to parse the request JSON buffer|failed to get request params|Unable to (parse|set) |attempt to |Expected JSON object )/;

const RANGES: Readonly<Record<string, readonly [least: bigint, most: bigint]>> = {
  UINT8: [0n, 255n],
  UINT16: [0n, 65_535n],
  UINT32: [0n, 4_294_967_295n],
  INT8: [-128n, 127n],
  INT16: [-32_768n, 32_767n],
  INT32: [-2_147_483_648n, 2_147_483_647n],
};

/** The first input of a JSON request, numbers and shape as they were written. */
function firstInput(
  testCase: HttpCase,
): { readonly datatype: string; readonly shape: readonly string[]; readonly data: readonly string[] } | undefined {
  const text = requestText(testCase);
  const datatype = /"datatype": ?"(\w+)"/.exec(text)?.[1];
  const shape = /"shape": ?\[([^\]]*)\]/.exec(text)?.[1];
  if (datatype === undefined || shape === undefined) return undefined;
  const data = /"data": ?\[([^\]]*)\]/.exec(text)?.[1] ?? '';
  return { datatype, shape: shape.split(','), data: data.split(',') };
}

/** The input of a generate request to the model `count`. */
function countInput(testCase: HttpCase): ReturnType<typeof firstInput> {
  const number = testCase.model === 'count' ? /"n":(\d+)/.exec(requestText(testCase))?.[1] : undefined;
  return number === undefined ? undefined : { datatype: 'INT32', shape: ['1', '1'], data: [number] };
}

/** Names of the inputs, in the order of the request. */
function inputNames(testCase: HttpCase): readonly string[] {
  const [inputs = ''] = requestText(testCase).split('"outputs"');
  return [...inputs.matchAll(/"name": ?"([^"]*)"/g)].map(([, name]) => name!);
}

function outOfRange(testCase: HttpCase): string | undefined {
  const input = firstInput(testCase) ?? countInput(testCase);
  const range = RANGES[input?.datatype ?? ''];
  if (input === undefined || range === undefined) return undefined;
  const bad = input.data.find((text) => /^-?\d+$/.test(text) && (BigInt(text) < range[0] || BigInt(text) > range[1]));
  return bad === undefined
    ? undefined
    : `Unable to parse 'data': ${input.datatype} values must be in range [ ${range[0]}, ${range[1]} ], got: ${bad}`;
}

function isCompressed({ request }: HttpCase): boolean {
  return request.headers.some(([name]) => name.toLowerCase() === 'content-encoding');
}

function headerLength({ request }: HttpCase): string | undefined {
  return request.headers.find(([name]) => name.toLowerCase() === 'inference-header-content-length')?.[1].trim();
}

/** What stands behind words of Triton's that do not say which tensor is wrong. */
const EXPECTED_AND_GOT =
  /(?<=Unable to parse [^:]*: [^:]*|invalid datatype for input [^:]*): expected [^:]* (?:(?:for|for the shape of) '.*?'|BYTES), got .*?(?="}$|"}\n\n$)/;

export const HTTP_REQUEST_RULES: readonly HttpRule[] = [
  {
    name: "what was got and expected stands behind Triton's words",
    reason: 'They name neither the tensor nor a number.',
    cases: listedCases('http', "what was got and expected stands behind Triton's words"),
    excuses: {
      members: "what stands behind Triton's words",
      without: (answer) => ({ ...answer, body: Buffer.from(answer.body.toString().replace(EXPECTED_AND_GOT, '')) }),
    },
  },
  {
    name: 'malformed JSON is the mistake of the client',
    reason:
      'Triton says 500 to syntax errors, missing members and wrong types, which makes clients retry and monitors alarm. The text is the same.',
    cases: listedCases('http', 'malformed JSON is the mistake of the client'),
    expects: (recorded) =>
      recorded.status === 500 && JSON_MISTAKE.test(errorOf(recorded) ?? '') ? { ...recorded, status: 400 } : undefined,
  },
  {
    name: 'an output is asked for once',
    reason: 'Newer Tritons refuse the second listing, in these words; this one passes over what it says.',
    cases: ['addsub outputs: add twice'],
    expects: (_recorded, { name }) =>
      name === 'addsub outputs: add twice'
        ? errorAnswer(400, "[request id: <id_unknown>] output 'add' already exists in request")
        : undefined,
  },
  {
    name: 'JSON is nested as deep as makes sense',
    reason: 'Newer Tritons refuse more than 100 levels of data, in these words; here that goes for all of the JSON.',
    cases: [
      'data nested 101 deep',
      'an unknown member nested 101 deep',
      'empty data nested 101 deep',
      'empty data nested 200 deep',
      'data nested 1000 deep',
      'an unknown member nested 1000 deep',
      'empty data nested 1000 deep',
    ],
    expects: (_recorded, { name }) =>
      Number(/ nested (\d+) deep$/.exec(name)?.[1] ?? 0) > 100
        ? errorAnswer(400, 'JSON nesting depth exceeds maximum allowed limit (100)')
        : undefined,
  },
  {
    name: 'integers out of range are refused',
    reason: 'Triton keeps the low bits: 300 becomes 44 in a UINT8, silently.',
    cases: listedCases('http', 'integers out of range are refused'),
    expects: (recorded, testCase) => {
      const message = recorded.status === 200 ? outOfRange(testCase) : undefined;
      return message === undefined ? undefined : errorAnswer(400, message);
    },
  },
  {
    name: 'numbers that no double holds are refused',
    reason: 'Triton refuses 1e400 and turns what is just beyond the largest double into Infinity.',
    cases: ['FP32 printing 1.7976931348623159e308', 'FP64 printing 1.7976931348623159e308'],
    expects: (recorded, testCase) => {
      const offset = requestText(testCase).indexOf('1.7976931348623159e308');
      return offset < 0 || recorded.status !== 200
        ? undefined
        : errorAnswer(
            400,
            `failed to parse the request JSON buffer: Number too big to be stored in double. at ${offset}`,
          );
    },
  },
  {
    name: 'text is UTF-8',
    reason:
      'JSON is UTF-8 (RFC 8259). Triton passes other bytes on and sends them back in answers that are no JSON then; binary tensors take any bytes.',
    cases: [
      'BYTES string: invalid UTF-8 byte',
      'BYTES string: overlong UTF-8',
      'body: latin-1 byte in the id',
      'generate_stream: body not UTF-8',
    ],
    expects: (recorded, testCase) => {
      const text = Buffer.from(testCase.request.body_base64 ?? '', 'base64').toString();
      const garbled = text.indexOf('\ufffd');
      const passedOn = recorded.status === 200 || recorded.contentType?.startsWith('text/event-stream') === true;
      const takesJson = isInfer(testCase) || testCase.request.path.endsWith('/generate_stream');
      if (!passedOn || garbled < 0 || headerLength(testCase) !== undefined || !takesJson || isCompressed(testCase))
        return undefined;
      const offset = Buffer.byteLength(text.slice(0, garbled));
      return errorAnswer(400, `failed to parse the request JSON buffer: Invalid encoding in string. at ${offset}`);
    },
  },
  {
    name: 'a batch has at least one row',
    reason: 'Triton refuses a batch of no rows too, but complains of the size of the data.',
    cases: [
      'shape [0] with one element',
      'shape [0,1] with one element',
      'batch 0 with no data',
      'shape [0] with no data',
      'BOOL batch of 0',
      'UINT8 batch of 0',
      'UINT16 batch of 0',
      'UINT32 batch of 0',
      'INT16 batch of 0',
      'INT64 batch of 0',
      'FP16 batch of 0',
      'FP32 batch of 0',
      'FP64 batch of 0',
      'generate_stream: text empty list',
    ],
    expects: (recorded, testCase) =>
      recorded.status === 400 && isEmptyBatch(testCase)
        ? errorAnswer(400, emptyBatch(testCase.model ?? ''))
        : undefined,
  },
  {
    name: 'sizes do not overflow',
    reason:
      'Triton multiplies shapes without a check: some end the whole server process, others are accepted as another size.',
    cases: [
      'shape [9223372036854775807,1] with one element',
      'shape [9223372036854775808,1] with one element',
      'shape [18446744073709551615,1] with one element',
    ],
    expects: (_recorded, testCase) => {
      const first = firstInput(testCase)?.shape[0];
      if (first === '9223372036854775807') {
        const most = '9223372036854775807';
        return errorAnswer(
          400,
          `byte size overflow for input 'x': element count (${most}) * data type size (4) exceeds maximum allowed size (${most})`,
        );
      }
      return first === '9223372036854775808' || first === '18446744073709551615'
        ? errorAnswer(400, `invalid shape for input 'x': shape [${first},1] contains one or more invalid dimensions`)
        : undefined;
    },
  },
  {
    name: 'inputs are named in the order of the request',
    reason: 'Triton names them in the order of a hash map, any of several, and loses a bracket where none is missing.',
    cases: [
      'addsub inputs: a, b and an extra',
      'addsub inputs: batches disagree',
      'addsub inputs: two unknown',
      'addsub inputs: three unknown',
      'optional model: three',
      'optional model: x and y with other batch',
      'id = "a" in an error',
      'id = "" in an error',
      'id = "é😀" in an error',
      'id = "a\\"b\\\\c\\n" in an error',
      'id = "a\\u0000b" in an error',
      'id = "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii in an error',
      'id = " " in an error',
      'id = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz in an error',
    ],
    expects: (recorded, testCase) => {
      const names = inputNames(testCase);
      return withError(recorded, (message) =>
        laterInputDisagrees(inRequestOrder(message, names), names).replace(
          /^unexpected inference input '\w+'/,
          () => `unexpected inference input '${names.find((name) => name !== 'a' && name !== 'b')}'`,
        ),
      );
    },
  },
  {
    name: 'an optional input does not stand for a required one',
    reason: 'Triton only counts them, and the model fails.',
    cases: ['optional model: y only'],
    expects: (recorded, testCase) =>
      testCase.model === 'optional' && recorded.status === 500 ? errorAnswer(400, X_MISSING) : undefined,
  },
  {
    name: 'the length of the JSON is a number',
    reason:
      'Triton reads as many digits as there are: `abc`, nothing and `0x5d` are 0, which makes the request another one, and `93abc` is 93.',
    cases: [
      "header length 'abc'",
      "header length ' '",
      "header length 'Nabc'",
      "header length '0x5d'",
      "header length '1e2'",
    ],
    expects: (_recorded, testCase) => {
      const length = headerLength(testCase);
      return length === undefined || /^-?\d+(, \d+)*$/.test(length)
        ? undefined
        : errorAnswer(400, `Unable to parse Inference-Header-Content-Length, got: ${length}`);
    },
  },
  {
    name: 'raw requests name the input',
    reason: 'Triton calls it raw_input, whatever its name is.',
    cases: [
      "header length '0'",
      'raw request to nobatch with 12 bytes',
      'raw request to id_fp32 with 3 bytes',
      'raw request to classify with 8 bytes',
    ],
    expects: (recorded, testCase) =>
      withError(recorded, (message) => message.replace("'raw_input'", `'${testCase.model === 'nobatch' ? 'm' : 'x'}'`)),
  },
  {
    name: 'malformed HTTP is answered',
    reason: 'Triton closes the connection without a word.',
    cases: [
      'method get on /v2',
      'method CONNECT on /v2',
      'method get on /v2/models/addsub/infer',
      'method CONNECT on /v2/models/addsub/infer',
      'method get on /v2/repository/index',
      'method CONNECT on /v2/repository/index',
      'get path *',
      'get path v2',
    ],
    expects: (recorded, { request }) => {
      if (recorded.end !== 'closed') return undefined;
      if (request.method === 'CONNECT')
        return { ...errorAnswer(405, 'Method Not Allowed'), others: ['connection: close'] };
      if (request.method === 'get') return malformedAnswer('Invalid method encountered');
      if (request.path === 'v2') return malformedAnswer('Unexpected char in url schema');
      return request.path === '*' ? errorAnswer(404, 'Not Found') : undefined;
    },
  },
  {
    name: 'a method that is none is malformed HTTP',
    reason: 'Refused by the parser with 400 before there is a path that could allow it or not (405 in Triton).',
    cases: ['method FOO on /v2', 'method FOO on /v2/models/addsub/infer', 'method FOO on /v2/repository/index'],
    expects: (_recorded, { request }) =>
      request.method === 'FOO' ? malformedAnswer('Invalid method encountered') : undefined,
  },
];

function isEmptyBatch(testCase: HttpCase): boolean {
  return (
    testCase.name.endsWith(': text empty list') ||
    (isInfer(testCase) &&
      !['nobatch', 'wide'].includes(testCase.model ?? '') &&
      /"shape": ?\[0[,\]]/.test(requestText(testCase)))
  );
}
