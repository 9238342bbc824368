// Where answers over HTTP differ from Triton's on purpose.
import { HTTP_EXTENSION_RULES } from './http-extension-rules.js';
import { HTTP_CONTROL_RULES } from './http-control-rules.js';
import { HTTP_ANSWER_RULES } from './http-answer-rules.js';
import { HTTP_REQUEST_RULES } from './http-request-rules.js';
import { HTTP_STATISTICS_RULES } from './http-statistics-rules.js';
import type { HttpRule } from './replay-http.js';

/** In this order: what a rule makes of an answer the later ones see. */
export const HTTP_RULES: readonly HttpRule[] = [
  ...HTTP_CONTROL_RULES,
  ...HTTP_REQUEST_RULES,
  ...HTTP_EXTENSION_RULES,
  ...HTTP_STATISTICS_RULES,
  ...HTTP_ANSWER_RULES,
];
