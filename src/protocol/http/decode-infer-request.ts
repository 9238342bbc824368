// Decodes the bytes of POST …/infer into a ModelInferRequest: JSON, or JSON followed by binary tensors (the binary tensor data
// extension). Decoding follows Triton's order of steps, so of several mistakes the same one is reported
// (server/src/http_server.cc, ParseJsonTritonIO). Where Triton says INTERNAL here, the mistake is the client's: INVALID_ARG. The
// core checks everything that depends on the model's configuration. The time is proportional to the bytes, with pauses.

import { invalidArg } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { type InferTensor, ownMemory } from '../../model/exchange.js';
import type { SharedMemoryAccess } from '../../model/shared-memory.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { DATATYPE_BYTE_SIZE, isDatatype } from '../../tensor/dtype.js';
import { JsonParser } from '../json/json-parser.js';
import { LONG_RUN_BYTES } from '../json/json-scanner.js';
import { spaceRuns } from '../json/space-runs.js';
import type { JsonArray, JsonInteger } from '../json/json-value.js';
import type { CompleteRequest, RequestForm } from '../request-form.js';
import type { BinaryOutputs } from './encode-infer-response.js';
import { decodeRawRequest, type RequestBody } from './decode-raw-request.js';
import { parseHeaderLength } from './header-length.js';
import { arrayMember, member } from './json-members.js';
import { INFER_REQUEST, type JsonInput, JsonRequest, type RequestParameters } from './json-request.js';
import type { KnownRequest, KnownRequests } from './known-requests.js';
import { tensorDataReader } from './read-tensor-data.js';
import type { TensorDataReader } from './tensor-data-reader.js';
import { unknownDatatype } from './wrong-data.js';

export interface InferBody extends RequestBody {
  /** The header Inference-Header-Content-Length as it came; undefined if absent. */
  readonly headerLength: string | undefined;
  /** What the header says, where it has been read already. */
  readonly jsonLength?: number | undefined;
  /** The JSON of earlier requests, which need not be parsed again as a whole. Default: none. */
  readonly known?: Pick<KnownRequests, 'find' | 'copy' | 'add'> | undefined;
}

export interface CompleteInferRequest extends CompleteRequest {
  readonly binaryOutputs: BinaryOutputs;
}

/** Throws INVALID_ARG for a malformed body. */
export function* decodeInferRequest(given: InferBody): PacedWork<RequestForm<CompleteInferRequest>> {
  const { body, maxInputSize } = given;
  const jsonLength = given.jsonLength ?? parseHeaderLength(given.headerLength, body.length);
  if (jsonLength === 0) return new RawForm(given);
  if (jsonLength > maxInputSize) checkJsonSize(jsonLength, maxInputSize);
  const { known } = given;
  const parsed = known?.find(body, jsonLength);
  if (parsed !== undefined) return new JsonForm(parsed, given, jsonLength);
  const header = known?.copy(body, jsonLength);
  const parser = new JsonParser(header ?? body, { end: jsonLength }, INFER_REQUEST);
  if (jsonLength > LONG_RUN_BYTES) parser.runs = spaceRuns(body, jsonLength);
  while (!parser.advance(PAUSE_BYTES)) yield;
  const json = new JsonRequest(parser.value);
  if (header !== undefined) known!.add(header, json);
  return new JsonForm({ json, id: undefined }, given, jsonLength);
}

// Forms are classes, because making a generator function for each request would cost as much as reading the request.
class RawForm implements RequestForm<CompleteInferRequest> {
  readonly #given: InferBody;

  constructor(given: InferBody) {
    this.#given = given;
  }

  // eslint-disable-next-line require-yield
  *complete(config: CompleteModelConfig): PacedWork<CompleteInferRequest> {
    const request = decodeRawRequest(config, this.#given);
    return { request, binaryOutputs: { byDefault: true, listed: undefined }, classes: undefined };
  }
}

/** Reading an input without its data costs as much as reading that many bytes. */
const BYTES_OF_AN_INPUT = 256;

/** Reads the inputs in order. Binary ones take their bytes from the body behind the JSON. */
class JsonForm implements RequestForm<CompleteInferRequest> {
  readonly #json: JsonRequest;
  readonly #id: string;
  readonly #parameters: RequestParameters;
  readonly #data: KnownRequest['data'];
  readonly #inputs: KnownRequest['inputs'];
  readonly #given: InferBody;
  readonly #jsonLength: number;
  #modelName = '';
  /** The memory that belongs to the inputs read so far alone. */
  #memory: Set<ArrayBuffer> | undefined;
  #binaryOffset = 0;

  constructor({ json, id, parameters, data, inputs }: KnownRequest, given: InferBody, jsonLength: number) {
    this.#json = json;
    this.#id = id ?? json.id;
    this.#parameters = parameters ?? json.parameters;
    this.#data = data;
    this.#inputs = inputs;
    this.#given = given;
    this.#jsonLength = jsonLength;
  }

  *complete(
    { name: modelName }: CompleteModelConfig,
    sharedMemory: SharedMemoryAccess,
  ): PacedWork<CompleteInferRequest> {
    const { modelVersion, body } = this.#given;
    const { parameters, priority, timeoutMicroseconds, sequence, binaryByDefault } = this.#parameters;
    this.#modelName = modelName;
    this.#memory = undefined;
    this.#binaryOffset = this.#jsonLength;
    const json = this.#json;
    const inputs: InferTensor[] = [];
    const pace = new Pace();
    for (let i = 0; i < json.inputCount; i++) {
      const input = this.#inputs === undefined ? json.input(i) : this.#inputs[i]!;
      inputs.push(
        input.binarySize === undefined
          ? yield* this.#read(input, this.#data?.[i], { sharedMemory, pace })
          : this.#takeBinary(input),
      );
      if (pace.spend(BYTES_OF_AN_INPUT)) yield;
    }
    if (this.#binaryOffset !== body.length) {
      throw invalidArg(`unexpected additional input data for model '${modelName}'`);
    }
    const { outputs, listed, classes, elsewhere } = json.outputs(sharedMemory);
    return {
      request: {
        modelName,
        modelVersion,
        id: this.#id,
        parameters,
        inputs,
        outputs,
        priority,
        timeoutMicroseconds,
        sequence,
        memory: this.#memory && [...this.#memory],
      },
      binaryOutputs: { byDefault: binaryByDefault, listed, elsewhere },
      classes,
    };
  }

  #takeBinary({ name, datatype, shape, binarySize }: JsonInput): InferTensor {
    const { body } = this.#given;
    const start = this.#binaryOffset;
    const available = body.length - start;
    const size: JsonInteger = binarySize!;
    if (size > available) {
      throw invalidArg(
        `unexpected size for input '${name}', expecting ${BigInt(size) - BigInt(available)} additional bytes for model '${this.#modelName}'`,
      );
    }
    this.#binaryOffset = start + Number(size);
    this.#own(ownMemory(body));
    const bytes = body.subarray(start, this.#binaryOffset);
    // The shape is copied, because other requests may share this JSON.
    return { name, datatype, shape: shape.slice(), bytes };
  }

  /** Reads an input whose data is in shared memory or in the JSON. */
  *#read(
    input: JsonInput,
    data: JsonArray | undefined,
    { sharedMemory, pace }: { readonly sharedMemory: SharedMemoryAccess; readonly pace: Pace },
  ): PacedWork<InferTensor> {
    const { name, datatype, place } = input;
    const shape = input.shape.slice();
    if (place !== undefined) {
      const { bytes, memory } = yield* sharedMemory.input(place);
      this.#own(memory);
      return { name, datatype, shape, bytes };
    }
    const reader = this.#dataReader(input, data);
    if (reader === undefined) return { name, datatype, shape, bytes: new Uint8Array(0) };
    while (!reader.advance(PAUSE_BYTES)) yield;
    // The part that was read last counts together with the next input.
    if (pace.spend(reader.textLength % PAUSE_BYTES)) yield;
    this.#own(reader.memory);
    return { name, datatype, shape, bytes: reader.values };
  }

  #own(memory: ArrayBuffer | undefined): void {
    if (memory !== undefined) (this.#memory ??= new Set()).add(memory);
  }

  /** Returns undefined for a tensor without elements, whatever its data. */
  #dataReader({ name, datatype, count, json }: JsonInput, own: JsonArray | undefined): TensorDataReader | undefined {
    const { maxInputSize } = this.#given;
    const data = own ?? arrayMember(json, 'data');
    if (!isDatatype(datatype)) throw unknownDatatype(name, member(json, 'datatype')!);
    if (count === 0) return undefined;
    const byteSize = count * DATATYPE_BYTE_SIZE[datatype];
    if (byteSize > maxInputSize) {
      throw invalidArg(
        `JSON input '${name}' has a byte_size (${byteSize} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. ` +
          'Use --http-max-input-size to increase the limit.',
      );
    }
    return tensorDataReader(data, { datatype, count, name });
  }
}

/** Throws INVALID_ARG when the JSON part is larger than allowed. */
export function checkJsonSize(jsonLength: number, maxInputSize: number): void {
  if (jsonLength <= maxInputSize) return;
  throw invalidArg(
    `request JSON size of ${jsonLength} bytes exceeds the maximum allowed input size of ${maxInputSize} bytes. ` +
      'Use --http-max-input-size to increase the limit.',
  );
}
