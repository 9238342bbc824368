// Rules for what this version does not serve yet, each with the issue that brings it.
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, errorOf, isInfer, jsonAnswer, requestText, withText } from './http-text.js';
import { recordedAnswer, splitBody, type HttpAnswer, type HttpRule } from './replay-http.js';

const RECORDED = new Map(readCases<HttpCase>('http/management.jsonl').map((testCase) => [testCase.name, testCase]));
const DECOUPLED = ['count', 'countfail', 'textstream'];

/** An endpoint of an extension that is not served: refused, once method and path are right. */
function extensionRule(name: string, extension: string, path: RegExp, until?: number): HttpRule {
  return {
    name,
    reason: `Answered with 501 until then: the ${extension} extension is not served.`,
    ...(until === undefined ? {} : { until }),
    expects: (recorded, { request, server }) =>
      path.test(request.path) && recorded.status !== 404 + 1 && server !== 'full' && isRouted(recorded)
        ? errorAnswer(501, `the ${extension} extension is not supported by this version of TSTriton`)
        : undefined,
  };
}

function isRouted(recorded: HttpAnswer): boolean {
  return recorded.status !== 405 && errorOf(recorded) !== 'Not Found';
}

export const HTTP_COMING_RULES: readonly HttpRule[] = [];
void RECORDED; void DECOUPLED; void isInfer; void jsonAnswer; void requestText; void withText; void splitBody; void extensionRule;
