// Decodes a ModelInferRequest from its protobuf bytes, by hand, because every inference passes here. Raw contents become views of
// the message. Only typed contents are copied, and decoding pauses because they may be long. Of several errors, Triton's order
// decides which one is reported: the form of the message, the model, the parameters, the tensors' data, the requested outputs.

import { invalidArg } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { type InferTensor, ownMemory } from '../../model/exchange.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import type { SharedMemoryAccess } from '../../model/shared-memory.js';
import { isDatatype } from '../../tensor/dtype.js';
import { checkTensorSize, type CompleteRequest, inputDatatype, type RequestForm } from '../request-form.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';
import { type ParameterMap, readParameter } from './infer-parameters.js';
import {
  readOutputForm,
  readRequestParameters,
  readSharedMemory,
  type RequestParameters,
} from './request-parameters.js';
import { NO_EXTRAS, readTensorMessage, type TensorExtras } from './tensor-message.js';

/** The parts of a request that its answers repeat. */
export interface RequestReference {
  readonly modelName: string;
  /** The version that the client asked for; empty for the latest. */
  readonly modelVersion: string;
  readonly id: string;
}

export interface CompleteInferRequest extends CompleteRequest {
  /** Whether the client wants a separate message for the end of its answers when the end comes after the last answer. */
  readonly emptyFinalResponse: boolean;
}

const NOTHING = Buffer.alloc(0);
const NO_PARAMETERS: RequestParameters = {
  parameters: undefined,
  priority: 0,
  timeoutMicroseconds: 0,
  sequence: undefined,
  emptyFinalResponse: false,
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Parameters of a requested output. Few outputs have any. */
interface OutputParameters {
  readonly index: number;
  readonly parameters: ParameterMap;
}

/** Reads the form of one message after the other. This is fast for messages of any size. */
const reader = new WireReader('request', {
  fields: REQUEST_LIMITS.fields,
  nameBytes: REQUEST_LIMITS.nameBytes,
  textBytes: REQUEST_LIMITS.parameterBytes,
});

/**
 * Decodes a request, whose bytes must not change any more. Throws INTERNAL when the bytes are not a ModelInferRequest. Completing
 * it throws INVALID_ARG or UNSUPPORTED for the content of the message.
 */
export function* decodeInferRequest(bytes: Uint8Array): PacedWork<InferRequestMessage> {
  const message = new InferRequestMessage(bytes);
  if (message.hasContents) yield* message.scanContents();
  return message;
}

/** A well-formed message. */
export class InferRequestMessage implements RequestReference, RequestForm<CompleteInferRequest> {
  modelName = '';
  modelVersion = '';
  id = '';
  #message: Buffer = NOTHING;
  /** Reads the typed contents; undefined when no input has any. */
  #contentsReader: WireReader | undefined;
  #parameters: ParameterMap | undefined;
  readonly #inputs: Mutable<InferTensor>[] = [];
  /** The extras of each input, by its index; undefined when no input has any. */
  #extras: (TensorExtras | undefined)[] | undefined;
  readonly #outputs: string[] = [];
  #outputParameters: OutputParameters[] | undefined;
  /** Pairs of start and end of the raw contents. */
  readonly #raw: number[] = [];
  /** The memory that belongs to the inputs alone. */
  #memory: Set<ArrayBuffer> | undefined;

  constructor(bytes: Uint8Array) {
    try {
      reader.start(bytes);
      this.#message = reader.bytes;
      this.#readForm();
    } finally {
      reader.release();
    }
  }

  /** Whether inputs have typed contents, or parameters of their own. */
  get hasContents(): boolean {
    return this.#extras !== undefined;
  }

  *scanContents(): PacedWork<void> {
    for (const extras of this.#extras ?? []) {
      if (extras?.contents === undefined) continue;
      if (this.#contentsReader === undefined) {
        // This message needs its own reader, because others are read while it pauses.
        this.#contentsReader = new WireReader('request');
        this.#contentsReader.start(this.#message);
      }
      yield* extras.contents.scan(this.#contentsReader);
    }
  }

  *complete(_config: CompleteModelConfig, sharedMemory: SharedMemoryAccess): PacedWork<CompleteInferRequest> {
    const { parameters, priority, timeoutMicroseconds, sequence, emptyFinalResponse } =
      this.#parameters === undefined ? NO_PARAMETERS : readRequestParameters(this.#parameters);
    this.#memory = undefined;
    if (this.#extras === undefined && this.#raw.length >= 2 * this.#inputs.length) this.#takeRaw();
    else yield* this.#takeData(sharedMemory);
    const { modelName, modelVersion, id } = this;
    return {
      request: {
        modelName,
        modelVersion,
        id,
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
          this.modelName = reader.name();
          break;
        case (2 << 3) | LENGTH_DELIMITED:
          this.modelVersion = reader.name();
          break;
        case (3 << 3) | LENGTH_DELIMITED:
          this.id = reader.string();
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
    input.datatype = inputDatatype(input.datatype);
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

  // Handles the usual case: a raw entry for each input. Further entries are ignored, as in Triton.
  #takeRaw(): void {
    const message = this.#message;
    const inputs = this.#inputs;
    for (let i = 0; i < inputs.length; i++) inputs[i]!.bytes = message.subarray(this.#raw[2 * i], this.#raw[2 * i + 1]);
    this.#own(ownMemory(message));
  }

  #own(memory: ArrayBuffer | undefined): void {
    if (memory !== undefined) (this.#memory ??= new Set()).add(memory);
  }

  *#takeData(sharedMemory: SharedMemoryAccess): PacedWork<void> {
    const message = this.#message;
    const raw = this.#raw;
    let nextRaw = 0;
    for (const [index, input] of this.#inputs.entries()) {
      const { contents, parameters, hugeShape } = this.#extras?.[index] ?? NO_EXTRAS;
      if (hugeShape !== undefined) checkTensorSize(input.name, hugeShape, input.datatype);
      const describe = () => `input tensor '${input.name}' for model '${this.modelName}'`;
      const reference = parameters === undefined ? undefined : readSharedMemory(parameters, input.name);
      if (reference !== undefined) {
        if (contents !== undefined) {
          throw invalidArg(`unexpected 'content' provided when using shared memory for ${describe()}`);
        }
        const { bytes, memory } = yield* sharedMemory.input(reference);
        input.bytes = bytes;
        this.#own(memory);
      } else if (contents !== undefined) {
        if (raw.length > 0) {
          throw invalidArg(
            `contents field must not be specified when using raw_input_contents for '${input.name}' for model '${this.modelName}'`,
          );
        }
        const datatype = isDatatype(input.datatype) ? input.datatype : undefined;
        input.bytes = yield* contents.toRaw(this.#contentsReader!, datatype, describe);
        this.#own(ownMemory(input.bytes.buffer === message.buffer ? message : input.bytes));
      } else if (nextRaw < raw.length) {
        input.bytes = message.subarray(raw[nextRaw], raw[nextRaw + 1]);
        this.#own(ownMemory(message));
        nextRaw += 2;
      } else {
        throw invalidArg(`unable to find data for ${describe()} in request.`);
      }
    }
  }
}
