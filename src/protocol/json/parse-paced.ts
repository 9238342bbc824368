import { type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { JsonParser } from './json-parser.js';
import type { JsonShape } from './json-shape.js';
import type { JsonValue } from './json-value.js';
import { spaceRuns } from './space-runs.js';

/** Parses a whole body, with pauses. Throws INVALID_ARG. */
export function* parsePaced(body: Buffer, shape: JsonShape): PacedWork<JsonValue> {
  const parser = new JsonParser(body, {}, shape);
  parser.runs = spaceRuns(body, body.length);
  while (!parser.advance(PAUSE_BYTES)) yield;
  return parser.value;
}
