// A ModelInferRequest from its protobuf bytes, by hand, because every inference passes here. Raw contents become views
// of the message; nothing is copied but typed contents, which may be long, so that this pauses. Which of several errors
// wins follows Triton's order: the form of the message, the model, the parameters, the tensors' data, the requested
// outputs.

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferRequest } from '../../model/exchange.js';
import { ownMemory } from '../../model/own-memory.js';
import type { PacedWork } from '../../model/paced-work.js';
import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import { NO_SHARED_MEMORY, type SharedMemoryAccess } from '../../model/shared-memory.js';
import { DATATYPE_BYTE_SIZE, isDatatype } from '../../tensor/dtype.js';
import { readParameter, type ParameterMap } from './infer-parameters.js';
import { NO_EXTRAS, readTensorMessage, type TensorExtras } from './read-tensor-message.js';
import {
  readOutputForm,
  readRequestParameters,
  readSharedMemory,
  type RequestParameters,
} from './request-parameters.js';
import { LENGTH_DELIMITED, WireReader } from './wire-reader.js';

/**
 * Called with the model's name and version and the request's id when the message is well-formed; throws when there is
 * no such model.
 */
export type AdmitModel = (modelName: string, modelVersion: string, id: string) => void;

export interface DecodeOptions {
  admit?(...reference: Parameters<AdmitModel>): void;
  /** Where tensors in shared memory are found. Default: nowhere. */
  readonly sharedMemory?: SharedMemoryAccess;
}

export interface DecodedInferRequest {
  readonly request: ModelInferRequest;
  /** How many classes are wanted of an output; undefined when none is to be classified. */
  readonly classes: ReadonlyMap<string, number | bigint> | undefined;
  /** Whether the end of a stream of answers is wanted as a message when it comes after the last of them. */
  readonly emptyFinalResponse: boolean;
}

const NOTHING = Buffer.alloc(0);
// What Triton calls a datatype that it does not know. It is no Datatype, and equals none that a model declares: the core
// refuses it under this name, in its own order of checks.
const UNKNOWN = '<invalid>';
const NO_PARAMETERS: RequestParameters = {
  parameters: undefined,
  priority: 0,
  timeoutMicroseconds: 0,
  sequence: undefined,
  emptyFinalResponse: false,
};

const MAX_INT64 = 9223372036854775807n;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Parameters of a requested output, which few have. */
interface OutputParameters {
  readonly index: number;
  readonly parameters: ParameterMap;
}

/** Reads the form of one message after the other: that takes no time that matters, whatever their size. */
const reader = new WireReader('request', {
  fields: REQUEST_LIMITS.fields,
  nameBytes: REQUEST_LIMITS.nameBytes,
  textBytes: REQUEST_LIMITS.parameterBytes,
});

/**
 * Decodes a request. Throws INTERNAL when the bytes are no such message, what `admit` and `sharedMemory` throw, and
 * INVALID_ARG or UNSUPPORTED for what the message says. The tensors are views of `bytes`, which must not change any
 * more, or of shared memory.
 */
export function decodeModelInferRequest(
  bytes: Uint8Array,
  options: DecodeOptions = {},
): PacedWork<DecodedInferRequest> {
  return new RequestMessage().decode(bytes, options);
}

class RequestMessage {
  #modelName = '';
  #modelVersion = '';
  #id = '';
  #parameters: ParameterMap | undefined;
  readonly #inputs: Mutable<InferTensor>[] = [];
  /** By index of the input; undefined when no input has any. */
  #extras: (TensorExtras | undefined)[] | undefined;
  readonly #outputs: string[] = [];
  #outputParameters: OutputParameters[] | undefined;
  /** Pairs of start and end. */
  readonly #raw: number[] = [];
  /** Of the inputs, what belongs to them alone. */
  #memory: Set<ArrayBuffer> | undefined;

  *decode(bytes: Uint8Array, options: DecodeOptions): PacedWork<DecodedInferRequest> {
    const { sharedMemory = NO_SHARED_MEMORY } = options;
    let message: Buffer;
    try {
      reader.start(bytes);
      message = reader.bytes;
      this.#readForm();
    } finally {
      reader.release();
    }
    const contents = this.#extras === undefined ? undefined : yield* this.#scanContents(message, this.#extras);
    options.admit?.(this.#modelName, this.#modelVersion, this.#id);
    const { parameters, priority, timeoutMicroseconds, sequence, emptyFinalResponse } =
      this.#parameters === undefined ? NO_PARAMETERS : readRequestParameters(this.#parameters);
    if (this.#extras === undefined && this.#raw.length >= 2 * this.#inputs.length) this.#takeRaw(message);
    else yield* this.#takeData(message, contents, sharedMemory);
    return {
      request: {
        modelName: this.#modelName,
        modelVersion: this.#modelVersion,
        id: this.#id,
        parameters,
        inputs: this.#inputs,
        outputs: this.#outputs,
        priority,
        timeoutMicroseconds,
        sequence,
        memory: this.#memory && [...this.#memory],
      },
      classes:
        this.#outputParameters === undefined ? undefined : this.#readOutputs(this.#outputParameters, sharedMemory),
      emptyFinalResponse,
    };
  }

  /** Gives the reader that the contents are read with; undefined when no input has any. */
  *#scanContents(message: Buffer, inputs: readonly (TensorExtras | undefined)[]): PacedWork<WireReader | undefined> {
    let contentsReader: WireReader | undefined;
    for (const extras of inputs) {
      if (extras?.contents === undefined) continue;
      if (contentsReader === undefined) {
        // Of its own: other messages are read while this one pauses.
        contentsReader = new WireReader('request');
        contentsReader.start(message);
      }
      yield* extras.contents.scan(contentsReader);
    }
    return contentsReader;
  }

  #readOutputs(
    outputs: readonly OutputParameters[],
    sharedMemory: SharedMemoryAccess,
  ): ReadonlyMap<string, number | bigint> | undefined {
    let wanted: Map<string, number | bigint> | undefined;
    for (const { index, parameters } of outputs) {
      const name = this.#outputs[index]!;
      const form = readOutputForm(parameters, name);
      if (form.sharedMemory !== undefined) sharedMemory.output(name, form.sharedMemory);
      if (form.classes !== undefined) (wanted ??= new Map()).set(name, form.classes);
    }
    return wanted;
  }

  #readForm(): void {
    let parameters = 0;
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      switch (tag) {
        case (1 << 3) | LENGTH_DELIMITED:
          this.#modelName = reader.name();
          break;
        case (2 << 3) | LENGTH_DELIMITED:
          this.#modelVersion = reader.name();
          break;
        case (3 << 3) | LENGTH_DELIMITED:
          this.#id = reader.string();
          break;
        case (4 << 3) | LENGTH_DELIMITED:
          if (++parameters > REQUEST_LIMITS.parameters) throw beyondLimit('parameters', REQUEST_LIMITS.parameters);
          readParameter(reader, (this.#parameters ??= new Map()));
          break;
        case (5 << 3) | LENGTH_DELIMITED:
          if (this.#inputs.length >= REQUEST_LIMITS.inputs) throw beyondLimit('inputs', REQUEST_LIMITS.inputs);
          this.#readInput();
          break;
        case (6 << 3) | LENGTH_DELIMITED:
          if (this.#outputs.length >= REQUEST_LIMITS.outputs)
            throw beyondLimit('requested outputs', REQUEST_LIMITS.outputs);
          this.#readOutput();
          break;
        case (7 << 3) | LENGTH_DELIMITED: {
          const length = reader.length();
          const start = reader.position;
          if (this.#raw.push(start, start + length) > 2 * REQUEST_LIMITS.inputs) {
            throw beyondLimit('entries of raw_input_contents', REQUEST_LIMITS.inputs);
          }
          reader.position = start + length;
          break;
        }
        default:
          reader.skip(tag);
      }
    }
  }

  #readInput(): void {
    const input = { name: '', datatype: '', shape: [] as number[], bytes: NOTHING as Uint8Array };
    const extras = readTensorMessage(reader, input, REQUEST_LIMITS);
    if (!isDatatype(input.datatype)) input.datatype = UNKNOWN;
    if (extras !== undefined) (this.#extras ??= [])[this.#inputs.length] = extras;
    this.#inputs.push(input as Mutable<InferTensor>);
  }

  #readOutput(): void {
    const outer = reader.enter();
    let name = '';
    let parameters: ParameterMap | undefined;
    let count = 0;
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      if (tag === ((1 << 3) | LENGTH_DELIMITED)) name = reader.name();
      else if (tag === ((2 << 3) | LENGTH_DELIMITED)) {
        const { tensorParameters } = REQUEST_LIMITS;
        if (++count > tensorParameters) throw beyondLimit('parameters of a tensor', tensorParameters);
        readParameter(reader, (parameters ??= new Map()));
      } else reader.skip(tag);
    }
    reader.leave(outer);
    this.#outputs.push(name);
    if (parameters !== undefined) {
      (this.#outputParameters ??= []).push({ index: this.#outputs.length - 1, parameters });
    }
  }

  // As nearly always: a raw entry for each input. Further entries are passed over, as Triton does.
  #takeRaw(message: Buffer): void {
    const inputs = this.#inputs;
    for (let i = 0; i < inputs.length; i++) inputs[i]!.bytes = message.subarray(this.#raw[2 * i], this.#raw[2 * i + 1]);
    this.#own(ownMemory(message));
  }

  #own(memory: ArrayBuffer | undefined): void {
    if (memory !== undefined) (this.#memory ??= new Set()).add(memory);
  }

  *#takeData(
    message: Buffer,
    contentsReader: WireReader | undefined,
    sharedMemory: SharedMemoryAccess,
  ): PacedWork<void> {
    const raw = this.#raw;
    let nextRaw = 0;
    for (const [index, input] of this.#inputs.entries()) {
      const { contents, parameters, hugeShape } = this.#extras?.[index] ?? NO_EXTRAS;
      if (hugeShape !== undefined) checkHugeShape(input, hugeShape);
      const describe = () => `input tensor '${input.name}' for model '${this.#modelName}'`;
      const reference = parameters === undefined ? undefined : readSharedMemory(parameters, input.name);
      if (reference !== undefined) {
        if (contents !== undefined) {
          throw new TritonError(
            'INVALID_ARG',
            `unexpected 'content' provided when using shared memory for ${describe()}`,
          );
        }
        const { bytes, memory } = yield* sharedMemory.input(reference, input.datatype);
        input.bytes = bytes;
        this.#own(memory);
      } else if (contents !== undefined) {
        if (raw.length > 0) {
          throw new TritonError(
            'INVALID_ARG',
            `contents field must not be specified when using raw_input_contents for '${input.name}' for model '${this.#modelName}'`,
          );
        }
        const datatype = isDatatype(input.datatype) ? input.datatype : undefined;
        input.bytes = yield* contents.toRaw(contentsReader!, datatype, describe);
        this.#own(ownMemory(input.bytes.buffer === message.buffer ? message : input.bytes));
      } else if (nextRaw < raw.length) {
        input.bytes = message.subarray(raw[nextRaw], raw[nextRaw + 1]);
        this.#own(ownMemory(message));
        nextRaw += 2;
      } else {
        throw new TritonError('INVALID_ARG', `unable to find data for ${describe()} in request.`);
      }
    }
  }
}

/** Throws INVALID_ARG when the number of elements or the size does not fit int64; what else is wrong the core says. */
function checkHugeShape({ name, datatype }: InferTensor, shape: readonly (number | bigint)[]): void {
  if (shape.some((dim) => dim < 0)) return;
  const count = shape.reduce<bigint>((product, dim) => product * BigInt(dim), 1n);
  if (count > MAX_INT64) {
    throw new TritonError(
      'INVALID_ARG',
      `invalid shape for input '${name}': shape [${shape.join(',')}] causes total element count to exceed maximum size of ${MAX_INT64}`,
    );
  }
  const size = isDatatype(datatype) ? DATATYPE_BYTE_SIZE[datatype] : 0;
  if (count * BigInt(size) > MAX_INT64) {
    throw new TritonError(
      'INVALID_ARG',
      `byte size overflow for input '${name}': element count (${count}) * data type size (${size}) exceeds maximum allowed size (${MAX_INT64})`,
    );
  }
}
