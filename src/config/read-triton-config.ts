// The server's configuration: from the constructor, then the environment, then the defaults. A value that it does
// not understand is refused (constructor) or warned about (environment), never ignored.

import { expectObject, textOf } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import { completeTritonConfig, type CompleteTritonConfig } from './complete-triton-config.js';
import type { TritonConfig } from './generated/triton-config.js';
import {
  sagemakerSettings,
  type SagemakerSettings,
  vertexAiRoutes,
  type VertexAiRoutes,
} from './hosting-environment.js';
import { checkOption, parseOption } from './option-value.js';
import { isOption, nearestOption, OPTIONS, optionsEndingWith, PORT, refuseUnsupported } from './options.js';
import { parseRestrictions, type Restrictions } from './parse-restrictions.js';
import { type Environment, readEnvironment } from './read-environment.js';
import { checkEngine } from './tritonserver-options.js';

export interface ReadTritonConfig {
  readonly config: CompleteTritonConfig;
  /** The options that somebody gave. */
  readonly given: TritonConfig;
  readonly restrictions: Restrictions;
  /** What Vertex AI and SageMaker said in the environment; undefined where they are not served. */
  readonly vertexAi: VertexAiRoutes | undefined;
  readonly sagemaker: SagemakerSettings | undefined;
  /** For the log: variables that nobody understands. */
  readonly warnings: readonly string[];
}

/** Throws INVALID_ARG or UNSUPPORTED naming the option or variable, the value it got and the value it expected. */
export function readTritonConfig(given: TritonConfig, environment: Environment): ReadTritonConfig {
  checkGiven(given);
  const { values, warnings } = readEnvironment(environment);
  const merged: TritonConfig = { ...values, ...definedOf(given) };
  checkEngine(merged);
  const config = completeTritonConfig(merged, {
    prediction: environment['AIP_MODE'] === 'PREDICTION',
    vertexAiPort: vertexAiPortOf(environment),
    production: environment['NODE_ENV'] === 'production',
  });
  const restrictions = parseRestrictions(config);
  return {
    config,
    given: merged,
    restrictions,
    vertexAi: config.allowVertexAi ? vertexAiRoutes(environment) : undefined,
    sagemaker: config.allowSagemaker ? sagemakerSettings(environment) : undefined,
    warnings,
  };
}

function vertexAiPortOf(environment: Environment): number {
  const text = environment['AIP_HTTP_PORT'];
  return text === undefined || text === '' ? 8080 : (parseOption(PORT, text, 'AIP_HTTP_PORT') as number);
}

/** Without the options that have no value. */
export function definedOf(given: TritonConfig): TritonConfig {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function hintFor(name: string): string {
  // PyTriton's `Triton(config=TritonConfig(…))`.
  if (name === 'config')
    return "; options stand at the top: new Triton({ httpPort: 8000 }), without 'config' around them";
  const hint = nearestOption(name);
  if (hint !== undefined) return `; did you mean '${hint}'?`;
  const longer = optionsEndingWith(name);
  return longer.length === 0 ? '' : `; did you mean one of ${longer.join(', ')}?`;
}

/** Throws INVALID_ARG or UNSUPPORTED naming the option; `what` is where it stands, and `where` follows its name. */
export function checkGiven(given: unknown, what: string = 'TritonConfig', where: string = ''): void {
  // The value says more than its type: in Python a port or a path may stand here.
  if (typeof given !== 'object') throw invalidArg(`${what} must be an object, got ${textOf(given)}`);
  expectObject(given, what);
  for (const [name, value] of Object.entries(given)) {
    refuseUnsupported(name, `${name}${where}`);
    if (!isOption(name)) {
      throw invalidArg(`${what} has an unknown option '${name}'${hintFor(name)}`);
    }
    if (value !== undefined) checkOption(OPTIONS[name].kind, value, `${name}${where}`);
  }
}
