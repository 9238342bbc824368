// Decodes the body of a request to a model's own route into a ModelInferRequest. The body is a JSON object with the inputs by name,
// form data with a part for each, or the only input of bytes itself. A request is one row. The protocol has none of this.

import { invalidArg, type TritonError } from '../../errors.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import { nearest } from '../../checks/nearest.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { membersOf } from '../json/json-shape.js';
import { JsonArray, JsonObject, type JsonValue } from '../json/json-value.js';
import { parsePaced } from '../json/parse-paced.js';
import type { RequestBody } from '../http/decode-raw-request.js';
import { readParameters } from '../http/json-request.js';
import type { CompleteRequest, RequestForm } from '../request-form.js';
import { isFormData, readFormData } from './form-data.js';
import { type GivenPart, valueOfParts } from './form-values.js';
import { type BodyType, URL_ENCODED } from './media-type.js';
import { onlyFile } from './only-file.js';
import { PlainInputs, type PlainValue, whatOf } from './plain-input.js';

export interface PlainBody extends RequestBody {
  readonly type: BodyType;
}

/** The configuration tells how answers are written. */
export interface CompletePlainRequest extends CompleteRequest {
  readonly config: CompleteModelConfig;
}

/** The member, or the part, with the parameters of the request. */
const PARAMETERS = 'parameters';
const PARAMETER_MEMBERS = membersOf({ limit: REQUEST_LIMITS.parameters, what: 'parameters' });
const PLAIN_REQUEST = membersOf(
  { limit: REQUEST_LIMITS.inputs, what: 'members', repeated: 'all' },
  { [PARAMETERS]: PARAMETER_MEMBERS },
);

/** Throws INVALID_ARG for a malformed body. */
export function* decodePlainRequest(given: PlainBody): PacedWork<RequestForm<CompletePlainRequest>> {
  const { body, type } = given;
  if (isFormData(type)) return new FormDataForm(yield* readFormData(body, type), given);
  if (!type.isJson) return new FileForm(given);
  refuseUrlEncoded(given);
  const json = yield* parsePaced(body, PLAIN_REQUEST);
  if (!(json instanceof JsonObject))
    throw invalidArg(`expected a JSON object with the inputs by name, got ${kindOf(json)}`);
  return new JsonObjectForm(json, given);
}

/** The type that pages give their forms, unless told otherwise, is also what `curl -d` says of JSON. */
function refuseUrlEncoded({ body, type }: PlainBody): void {
  if (type.text !== URL_ENCODED || !/^[\w%.+-]+=/.test(body.toString('latin1', 0, 200))) return;
  throw invalidArg(
    `expected a JSON object, or a form of type multipart/form-data: give the form of a page enctype="multipart/form-data"`,
  );
}

function kindOf(value: JsonValue): string {
  return value instanceof JsonArray ? 'an array' : 'a single value';
}

abstract class PlainForm implements RequestForm<CompletePlainRequest> {
  protected readonly given: PlainBody;

  constructor(given: PlainBody) {
    this.given = given;
  }

  *complete(config: CompleteModelConfig): PacedWork<CompletePlainRequest> {
    const { modelVersion, maxInputSize } = this.given;
    const inputs = new PlainInputs(config, maxInputSize);
    const parameters = yield* this.read(config, inputs);
    const { tensors, memory } = inputs;
    const { parameters: given, priority, timeoutMicroseconds, sequence } = readParameters(parameters);
    const request: ModelInferRequest = {
      modelName: config.name,
      modelVersion,
      id: '',
      parameters: given,
      inputs: tensors,
      outputs: [],
      priority,
      timeoutMicroseconds,
      sequence,
      memory,
    };
    return { request, config };
  }

  /** Adds the inputs. Returns the parameters as they came. */
  protected abstract read(config: CompleteModelConfig, inputs: PlainInputs): PacedWork<JsonValue | undefined>;
}

class JsonObjectForm extends PlainForm {
  readonly #json: JsonObject;

  constructor(json: JsonObject, given: PlainBody) {
    super(given);
    this.#json = json;
  }

  protected *read(config: CompleteModelConfig, inputs: PlainInputs): PacedWork<JsonValue | undefined> {
    const { keys, values, places } = this.#json;
    let parameters: JsonValue | undefined;
    for (let index = 0; index < keys.length; index++) {
      const name = keys[index]!;
      const value = values[index]!;
      const input = inputNamed(config, name, 'member');
      if (keys.indexOf(name) < index) throw invalidArg(`member '${name}' is given twice`);
      if (input === undefined) parameters = value;
      // Many programs write null for an absent value.
      else if (value !== null || !input.optional) {
        const text = { bytes: this.given.body, start: places[2 * index]!, end: places[2 * index + 1]! };
        const rest = inputs.add(input, { kind: 'json', value, text });
        if (rest !== undefined) yield* rest;
      }
    }
    return parameters;
  }
}

class FormDataForm extends PlainForm {
  readonly #parts: ReadonlyMap<string, readonly GivenPart[]>;

  constructor(parts: ReadonlyMap<string, readonly GivenPart[]>, given: PlainBody) {
    super(given);
    this.#parts = parts;
  }

  protected *read(config: CompleteModelConfig, inputs: PlainInputs): PacedWork<JsonValue | undefined> {
    let parameters: JsonValue | undefined;
    for (const [name, parts] of this.#parts) {
      const input = inputNamed(config, name, 'part');
      if (input === undefined) {
        if (parts.length > 1) throw invalidArg(`part '${name}' is given ${parts.length} times`);
        parameters = yield* parsePaced(parts[0]!.content, PARAMETER_MEMBERS);
        continue;
      }
      const value: PlainValue | undefined = yield* valueOfParts(parts, input);
      const rest = value === undefined ? undefined : inputs.add(input, value);
      if (rest !== undefined) yield* rest;
    }
    return parameters;
  }
}

/** A body that is the only input of bytes. */
class FileForm extends PlainForm {
  protected *read(config: CompleteModelConfig, inputs: PlainInputs): PacedWork<undefined> {
    const { body, type } = this.given;
    const rest = inputs.add(fileInput(config, type.text), { kind: 'elements', elements: [body] });
    if (rest !== undefined) yield* rest;
    return undefined;
  }
}

function fileInput(config: CompleteModelConfig, type: string): CompleteTensorSpec {
  const { input, reason } = onlyFile(config);
  if (input !== undefined) return input;
  throw invalidArg(
    `model '${config.name}' takes no body of type '${type}': ${reason}; send JSON or multipart/form-data`,
  );
}

/** Returns undefined for the parameters. Throws INVALID_ARG for an unknown name. */
function inputNamed(
  { name: model, inputs }: CompleteModelConfig,
  name: string,
  what: string,
): CompleteTensorSpec | undefined {
  const input = inputs.find((known) => known.name === name);
  if (input !== undefined || name === PARAMETERS) return input;
  throw unknownInput(
    model,
    `${what} '${name}'`,
    nearest(
      name,
      inputs.map((known) => known.name),
    ),
    inputs,
  );
}

function unknownInput(
  model: string,
  what: string,
  meant: string | undefined,
  inputs: readonly CompleteTensorSpec[],
): TritonError {
  const hint =
    meant === undefined ? `expected ${inputs.map(whatOf).join(', ') || 'no inputs'}` : `did you mean '${meant}'?`;
  return invalidArg(`model '${model}' has no input for the ${what}; ${hint}`);
}
