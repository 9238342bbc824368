// Keeps parsed JSON of requests. The requests of a client are mostly alike. They differ in their id, their parameters, the data of
// their tensors, and the sizes of these: then only what differs is parsed. Requests of many other forms are found as a whole.

import { TritonError } from '../../errors.js';
import { parseJson } from '../json/json-parser.js';
import { VALUE } from '../json/json-shape.js';
import { JsonArray } from '../json/json-value.js';
import { findId, findParameters, isPlainId } from './id-place.js';
import { member } from './json-members.js';
import {
  type JsonInput,
  type JsonRequest,
  PARAMETERS,
  readParameters,
  type RequestParameters,
} from './json-request.js';
import { KnownHeaders, LONGEST_ID, LONGEST_KEPT, type ParsedHeader } from './known-headers.js';
import { endOfDigits, findSizes, InputSizes, type Size } from './known-sizes.js';

/** A header is compared with each of the kept forms. */
const MOST_FORMS = 8;
/** The same for forms of any sizes: reading the sizes takes longer than comparing them. */
const MOST_SIZELESS_FORMS = 4;

export interface KnownRequest extends ParsedHeader<JsonRequest> {
  /** The parameters of this request; undefined when the shared JSON has them. */
  readonly parameters?: RequestParameters | undefined;
  /** The data of this request by the index of the input, where the JSON has data. Undefined when that of the JSON applies. */
  readonly data?: readonly (JsonArray | undefined)[] | undefined;
  /** The inputs of this request, with their sizes; undefined when those of the JSON apply. */
  readonly inputs?: readonly JsonInput[] | undefined;
}

/** A part of the text in which requests of one form differ. */
interface Hole {
  /** The text between the hole before and this one. */
  readonly before: string;
  readonly opening: string;
  /** The first such text ends the hole: as many brackets as nested data ends with. Undefined for an integer, which ends by itself. */
  readonly closing: string | undefined;
  /** What the hole is: a part of the request, the size of an input, or the data of the input with this index. */
  readonly what: 'id' | 'parameters' | Size | number;
}

/** The text of a header around its holes. */
interface Form {
  readonly holes: readonly Hole[];
  /** The text behind the last of them. */
  readonly rest: string;
  readonly json: JsonRequest;
  /** The text of the parameters that came last, and the parameters, unless the JSON has them. */
  text: string;
  parameters: RequestParameters | undefined;
  /** Whether a request of this form came since the form was last spared. */
  isUsed: boolean;
}

/** The forms that came last. */
class Forms {
  readonly #forms: Form[] = [];
  readonly #most: number;
  #next = 0;

  constructor(most: number) {
    this.#most = most;
  }

  find(text: string, body: Buffer): KnownRequest | undefined {
    const forms = this.#forms;
    for (let i = 0; i < forms.length; i++) {
      const found = readForm(forms[i]!, text, body);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A form that was used is spared once: most new ones never come again where many come. */
  add(form: Form): void {
    const forms = this.#forms;
    for (;;) {
      const place = this.#next;
      this.#next = (place + 1) % this.#most;
      if (forms[place]?.isUsed !== true) {
        forms[place] = form;
        return;
      }
      forms[place].isUsed = false;
    }
  }
}

export class KnownRequests {
  readonly #headers = new KnownHeaders<JsonRequest>();
  readonly #forms = new Forms(MOST_FORMS);
  /** The sizes of inputs are holes of these. */
  readonly #sizeless = new Forms(MOST_SIZELESS_FORMS);

  /** The parsed form of the first `length` bytes of a body; undefined for an unknown header. */
  find(body: Buffer, length: number): KnownRequest | undefined {
    const found = this.#findForm(body, length);
    // JSON without binary tensors behind it differs in each request.
    return found !== undefined || length === body.length ? found : this.#headers.find(body, length);
  }

  /** Copies the header for parsing, so that the parsed form does not keep the body. Undefined for a header that is not kept. */
  copy(body: Buffer, length: number): Buffer | undefined {
    return this.#headers.copy(body, length);
  }

  /** Keeps the parsed form of a header, which never changes. */
  add(header: Buffer, json: JsonRequest): void {
    const text = header.toString('latin1');
    const data = dataOf(json, text);
    if (data === undefined) return;
    if (data.length === 0) this.#headers.add(header, json);
    const places = [...placesOf(text), ...data];
    this.#forms.add(formOf(text, json, places));
    const sizes = findSizes(json, text);
    if (sizes !== undefined) this.#sizeless.add(formOf(text, json, [...places, ...sizes]));
  }

  #findForm(body: Buffer, length: number): KnownRequest | undefined {
    if (length > LONGEST_KEPT + LONGEST_ID) return undefined;
    const text = body.toString('latin1', 0, length);
    return this.#forms.find(text, body) ?? this.#sizeless.find(text, body);
  }
}

/** Undefined for a text of another form. Outside of the holes both texts are the same, so they mean the same. */
function readForm(form: Form, text: string, body: Buffer): KnownRequest | undefined {
  const { holes, rest } = form;
  const places: number[] = [];
  let at = 0;
  for (let i = 0; i < holes.length; i++) {
    const { before, opening, closing } = holes[i]!;
    if (!text.startsWith(before, at)) return undefined;
    const start = at + before.length;
    if (closing === undefined) {
      at = endOfDigits(text, start);
      if (at === start) return undefined;
    } else {
      const end = text.indexOf(closing, start + 1);
      if (end < 0 || text[start] !== opening) return undefined;
      at = end + closing.length;
    }
    places.push(start, at);
  }
  if (text.slice(at) !== rest) return undefined;
  form.isUsed = true;
  try {
    return readHoles(form, text, { body, places });
  } catch (error) {
    // A string contains the character, or something is wrong. Reading the whole text shows it.
    if (error instanceof TritonError) return undefined;
    throw error;
  }
}

interface Places {
  readonly body: Buffer;
  /** Begin and end of each hole. */
  readonly places: readonly number[];
}

/** Undefined for an id that is not plain. Throws INVALID_ARG for a hole with anything but one value. */
function readHoles(form: Form, text: string, { body, places }: Places): KnownRequest | undefined {
  const { holes, json } = form;
  let id: string | undefined;
  let data: (JsonArray | undefined)[] | undefined;
  let sizes: InputSizes | undefined;
  for (let i = 0; i < holes.length; i++) {
    const { what } = holes[i]!;
    const start = places[2 * i]!;
    const end = places[2 * i + 1]!;
    if (what === 'id') {
      id = text.slice(start + 1, end - 1);
      if (id.length > LONGEST_ID || !isPlainId(id)) return undefined;
    } else if (what === 'parameters') {
      const parameters = text.slice(start, end);
      if (parameters === form.text) continue;
      form.parameters = readParameters(parseJson(body, start, end, PARAMETERS));
      form.text = parameters;
    } else if (typeof what === 'number') {
      (data ??= [])[what] = parseJson(body, start, end, VALUE) as JsonArray;
    } else {
      if (!(sizes ??= new InputSizes(json)).read(what, text, start, end)) return undefined;
    }
  }
  const inputs = sizes?.inputs();
  if (sizes !== undefined && inputs === undefined) return undefined;
  return { json, id, parameters: form.parameters, data, inputs };
}

type Place = Pick<Hole, 'what'> & { readonly start: number; readonly end: number };

/** Those of the id and the parameters, if it has them. */
function placesOf(text: string): readonly Place[] {
  const places: Place[] = [];
  const id = findId(text);
  const parameters = findParameters(text);
  if (id !== undefined) places.push({ start: id.start - 1, end: id.end + 1, what: 'id' });
  if (parameters !== undefined) places.push({ ...parameters, what: 'parameters' });
  return places;
}

function formOf(text: string, json: JsonRequest, holes: readonly Place[]): Form {
  const places = holes.toSorted((a, b) => a.start - b.start);
  const parameters = places.find(({ what }) => what === 'parameters');
  return {
    holes: places.map(({ start, end, what }, i) => {
      const before = text.slice(i === 0 ? 0 : places[i - 1]!.end, start);
      const isInteger = typeof what === 'object' && what.member === 'binarySize';
      return { before, opening: text[start]!, closing: isInteger ? undefined : closingOf(text, start, end), what };
    }),
    rest: text.slice(places.at(-1)?.end ?? 0),
    json,
    text: text.slice(parameters?.start ?? 0, parameters?.end ?? 0),
    parameters: undefined,
    isUsed: false,
  };
}

function closingOf(text: string, start: number, end: number): string {
  return /\]+$|.$/s.exec(text.slice(start, end))![0];
}

/** The places of the inputs' data. Undefined when an input is wrong, or has data that end in another way than others would. */
function dataOf(json: JsonRequest, text: string): readonly Place[] | undefined {
  const places: Place[] = [];
  try {
    for (let i = 0; i < json.inputCount; i++) {
      const data = member(json.input(i).json, 'data');
      if (data === undefined) continue;
      if (!(data instanceof JsonArray)) return undefined;
      const closing = closingOf(text, data.start, data.end);
      if (text.indexOf(closing, data.start) !== data.end - closing.length) return undefined;
      places.push({ start: data.start, end: data.end, what: i });
    }
  } catch (error) {
    if (error instanceof TritonError) return undefined;
    throw error;
  }
  return places;
}
