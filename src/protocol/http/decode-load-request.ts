// The body of a model's load: a configuration, and files in base64 (server/src/http_server.cc, HandleRepositoryControl). Files may
// be large, so they are decoded with pauses, in the memory of the body: the load holds no more than its client has sent.

import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { checkLoadParameter } from '../control-refusals.js';
import { membersOf } from '../json/json-shape.js';
import { parsePaced } from '../json/parse-paced.js';
import { escapeLength, unescapeInto } from '../json/json-string.js';
import { type JsonObject, JsonText } from '../json/json-value.js';
import { asObject, asString, textOrThrow } from './json-access.js';
import { member } from './json-members.js';

export interface LoadParametersJson {
  readonly config: string | undefined;
  /** By the parameters' names; undefined for a text that is not base64. */
  readonly files: Readonly<Record<string, Uint8Array | undefined>>;
}

const MEMBERS = { limit: REQUEST_LIMITS.controlFields, namesBytes: REQUEST_LIMITS.controlBytes, what: 'members' };
const LOAD_BODY = membersOf(MEMBERS, { parameters: membersOf(MEMBERS) });

/** Decodes a body, which it may overwrite. The files are views of it. An empty body has no parameters. Throws INVALID_ARG. */
export function* decodeLoadRequest(body: Buffer): PacedWork<LoadParametersJson> {
  if (body.length === 0) return { config: undefined, files: {} };
  const parameters = member(yield* parsePaced(body, LOAD_BODY), 'parameters');
  if (parameters === undefined) return { config: undefined, files: {} };
  const object = asObject(parameters);
  for (const value of object.values) textOrThrow(value);
  for (const name of object.keys) checkLoadParameter(name);
  const config = configOf(object);
  const pace = new Pace();
  const files: [string, Uint8Array | undefined][] = [];
  for (const [index, name] of object.keys.entries()) {
    if (name === 'config') continue;
    // The place of a string includes its quotes.
    const [start, end] = [object.places[2 * index]! + 1, object.places[2 * index + 1]! - 1];
    files.push([name, yield* decodeFile(body.subarray(start, end), pace)]);
  }
  return { config, files: Object.fromEntries(files) };
}

function configOf(parameters: JsonObject): string | undefined {
  const value = parameters.get('config');
  if (value === undefined) return undefined;
  const { controlBytes } = REQUEST_LIMITS;
  if (value instanceof JsonText && value.byteLength > controlBytes)
    throw beyondLimit("bytes in the parameter 'config'", controlBytes);
  return asString(value);
}

const BASE64 = /^[A-Za-z0-9+/]*$/;
const LAST_BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Decodes the text of a JSON string in its own memory, where the bytes take less room. Undefined where it is not base64. */
function* decodeFile(text: Buffer, pace: Pace): PacedWork<Uint8Array | undefined> {
  const end = yield* unescape(text, pace);
  let length = 0;
  for (let start = 0; start < end; start += PAUSE_BYTES) {
    const stop = Math.min(end, start + PAUSE_BYTES);
    const piece = text.toString('latin1', start, stop);
    if (!(stop === end ? LAST_BASE64 : BASE64).test(piece)) return undefined;
    length += text.write(piece, length, 'base64');
    if (pace.spend(stop - start)) yield;
  }
  return text.subarray(0, length);
}

const BACKSLASH = 0x5c;

/** Replaces the escapes of a JSON string in its own memory: some writers escape each slash. Returns the length. */
function* unescape(text: Buffer, pace: Pace): PacedWork<number> {
  const first = text.indexOf(BACKSLASH);
  if (first < 0) return text.length;
  let length = first;
  for (let pos = first; pos < text.length;) {
    if (text[pos] === BACKSLASH) {
      const next = pos + escapeLength(text, pos);
      length = unescapeInto(text, length, text, pos, next);
      pos = next;
    } else {
      text[length++] = text[pos++]!;
    }
    if (pace.spend(1)) yield;
  }
  return length;
}
