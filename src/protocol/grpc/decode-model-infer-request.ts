// A ModelInferRequest from its protobuf bytes, by hand, because every inference passes here. Raw contents become views
// of the message; nothing is copied but typed contents. Which of several errors wins follows Triton's order: the form
// of the message, the model, the parameters, the tensors' data, the requested outputs.

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferRequest } from '../../model/exchange.js';
import { isDatatype, type Datatype } from '../../tensor/dtype.js';
import { readParameter, type ParameterMap } from './infer-parameters.js';
import {
  checkInputParameters,
  checkOutputParameters,
  readRequestParameters,
  type RequestParameters,
} from './request-parameters.js';
import { TensorContents } from './tensor-contents.js';
import { LENGTH_DELIMITED, VARINT, WireReader } from './wire-reader.js';

/** Called with the model's name and version when the message is well-formed; throws when there is no such model. */
export type AdmitModel = (modelName: string, modelVersion: string) => void;

// A byte or two of a message can ask for an object of a hundred. This many tensors, dimensions, parameters and raw
// entries together are beyond any model and still cost little memory.
const MAX_PARTS = 100_000;

const NOTHING = Buffer.alloc(0);
const NO_PARAMETERS: RequestParameters = { parameters: undefined, priority: 0, timeoutMicroseconds: 0 };

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One input with what only some requests have. */
interface InputExtras {
  contents: TensorContents | undefined;
  parameters: ParameterMap | undefined;
}

const reader = new WireReader('request');

/**
 * Decodes a request. Throws INTERNAL when the bytes are no such message, what `admit` throws, and INVALID_ARG or
 * UNSUPPORTED for what the message says. The tensors are views of `bytes`, which must not change any more.
 */
export function decodeModelInferRequest(bytes: Uint8Array, admit?: AdmitModel): ModelInferRequest {
  reader.start(bytes);
  try {
    return new RequestMessage().decode(admit);
  } finally {
    reader.release();
  }
}

class RequestMessage {
  #modelName = '';
  #modelVersion = '';
  #id = '';
  #parameters: ParameterMap | undefined;
  readonly #inputs: Mutable<InferTensor>[] = [];
  /** By index of the input; undefined when no input has any. */
  #extras: (InputExtras | undefined)[] | undefined;
  readonly #outputs: string[] = [];
  #outputParameters: { readonly name: string; readonly parameters: ParameterMap }[] | undefined;
  /** Pairs of start and end. */
  readonly #raw: number[] = [];
  #parts = 0;

  decode(admit: AdmitModel | undefined): ModelInferRequest {
    this.#read();
    admit?.(this.#modelName, this.#modelVersion);
    const { parameters, priority, timeoutMicroseconds } =
      this.#parameters === undefined ? NO_PARAMETERS : readRequestParameters(this.#parameters);
    if (this.#extras === undefined && this.#raw.length >= 2 * this.#inputs.length) this.#takeRaw();
    else this.#takeData();
    for (const { name, parameters: given } of this.#outputParameters ?? []) checkOutputParameters(given, name);
    return {
      modelName: this.#modelName,
      modelVersion: this.#modelVersion,
      id: this.#id,
      parameters,
      inputs: this.#inputs,
      outputs: this.#outputs,
      priority,
      timeoutMicroseconds,
    };
  }

  #read(): void {
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
          this.#countParts(1);
          readParameter(reader, (this.#parameters ??= new Map()));
          break;
        case (5 << 3) | LENGTH_DELIMITED:
          this.#countParts(1);
          this.#readInput();
          break;
        case (6 << 3) | LENGTH_DELIMITED:
          this.#countParts(1);
          this.#readOutput();
          break;
        case (7 << 3) | LENGTH_DELIMITED: {
          this.#countParts(1);
          const length = reader.length();
          const start = reader.position;
          this.#raw.push(start, start + length);
          reader.position = start + length;
          break;
        }
        default:
          reader.skip(tag);
      }
    }
  }

  #countParts(count: number): void {
    this.#parts += count;
    if (this.#parts > MAX_PARTS) {
      throw new TritonError(
        'INVALID_ARG',
        `expected a request of at most ${MAX_PARTS} tensors, dimensions and parameters, got more`,
      );
    }
  }

  #readInput(): void {
    const outer = reader.enter();
    let name = '';
    let datatype = '';
    const shape: number[] = [];
    let extras: InputExtras | undefined;
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      switch (tag) {
        case (1 << 3) | LENGTH_DELIMITED:
          name = reader.name();
          break;
        case (2 << 3) | LENGTH_DELIMITED:
          datatype = reader.name();
          break;
        case (3 << 3) | LENGTH_DELIMITED: {
          const packed = reader.enter();
          this.#countParts(reader.limit - reader.position);
          while (reader.position < reader.limit) shape.push(reader.int64AsNumber());
          reader.leave(packed);
          break;
        }
        case (3 << 3) | VARINT:
          this.#countParts(1);
          shape.push(reader.int64AsNumber());
          break;
        case (4 << 3) | LENGTH_DELIMITED:
          this.#countParts(1);
          extras ??= { contents: undefined, parameters: undefined };
          readParameter(reader, (extras.parameters ??= new Map()));
          break;
        case (5 << 3) | LENGTH_DELIMITED: {
          extras ??= { contents: undefined, parameters: undefined };
          const inner = reader.enter();
          (extras.contents ??= new TensorContents()).read(reader);
          reader.leave(inner);
          break;
        }
        default:
          reader.skip(tag);
      }
    }
    reader.leave(outer);
    if (extras !== undefined) (this.#extras ??= [])[this.#inputs.length] = extras;
    this.#inputs.push({ name, datatype: knownDatatype(datatype), shape, bytes: NOTHING });
  }

  #readOutput(): void {
    const outer = reader.enter();
    let name = '';
    let parameters: ParameterMap | undefined;
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      if (tag === ((1 << 3) | LENGTH_DELIMITED)) name = reader.name();
      else if (tag === ((2 << 3) | LENGTH_DELIMITED)) {
        this.#countParts(1);
        readParameter(reader, (parameters ??= new Map()));
      } else reader.skip(tag);
    }
    reader.leave(outer);
    this.#outputs.push(name);
    if (parameters !== undefined) (this.#outputParameters ??= []).push({ name, parameters });
  }

  // As nearly always: a raw entry for each input. Further entries are passed over, as Triton does.
  #takeRaw(): void {
    const inputs = this.#inputs;
    for (let i = 0; i < inputs.length; i++)
      inputs[i]!.bytes = reader.bytes.subarray(this.#raw[2 * i], this.#raw[2 * i + 1]);
  }

  #takeData(): void {
    const raw = this.#raw;
    let nextRaw = 0;
    for (const [index, input] of this.#inputs.entries()) {
      const { contents, parameters } = this.#extras?.[index] ?? { contents: undefined, parameters: undefined };
      const describe = () => `input tensor '${input.name}' for model '${this.#modelName}'`;
      if (parameters !== undefined) checkInputParameters(parameters, input.name);
      if (contents !== undefined) {
        if (raw.length > 0) {
          throw new TritonError(
            'INVALID_ARG',
            `contents field must not be specified when using raw_input_contents for '${input.name}' for model '${this.#modelName}'`,
          );
        }
        input.bytes = contents.toRaw(reader, isDatatype(input.datatype) ? input.datatype : undefined, describe);
      } else if (nextRaw < raw.length) {
        input.bytes = reader.bytes.subarray(raw[nextRaw], raw[nextRaw + 1]);
        nextRaw += 2;
      } else {
        throw new TritonError('INVALID_ARG', `unable to find data for ${describe()} in request.`);
      }
    }
  }
}

// Triton calls a datatype that it does not know `<invalid>`. It is no Datatype, and equals none that a model declares:
// the core refuses it under this name, in its own order of checks.
function knownDatatype(name: string): Datatype {
  return isDatatype(name) ? name : ('<invalid>' as Datatype);
}
