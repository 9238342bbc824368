// What Vertex AI and SageMaker tell the servers that they host, in variables of the environment.

import { invalidArg } from '../errors.js';
import type { SagemakerInferenceType } from '../frontend/sagemaker/sagemaker-service.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface VertexAiRoutes {
  readonly predictRoute: string;
  readonly healthRoute: string;
}

export interface SagemakerSettings {
  readonly pingMode: 'ready' | 'live';
  readonly defaultModel: string;
  readonly inferenceType: SagemakerInferenceType;
}

/** Throws INVALID_ARG when a route is missing. */
export function vertexAiRoutes(environment: Environment): VertexAiRoutes {
  return {
    predictRoute: required(environment, 'AIP_PREDICT_ROUTE'),
    healthRoute: required(environment, 'AIP_HEALTH_ROUTE'),
  };
}

function required(environment: Environment, variable: string): string {
  const value = environment[variable];
  if (value !== undefined && value !== '') return value;
  throw invalidArg(`${variable} is not defined for Vertex AI endpoint`);
}

const PING_MODES = ['ready', 'live'] as const;
const INFERENCE_TYPES = ['infer', 'generate', 'generate_stream'] as const;

/** Throws INVALID_ARG for a value that means nothing. */
export function sagemakerSettings(environment: Environment): SagemakerSettings {
  return {
    pingMode: oneOf(PING_MODES, environment, 'SAGEMAKER_TRITON_PING_MODE'),
    defaultModel:
      environment['SAGEMAKER_TRITON_DEFAULT_MODEL_NAME'] ?? 'unspecified_SAGEMAKER_TRITON_DEFAULT_MODEL_NAME',
    inferenceType: oneOf(INFERENCE_TYPES, environment, 'SAGEMAKER_TRITON_INFERENCE_TYPE'),
  };
}

/** The first one when the variable is not set. */
function oneOf<const Values extends readonly [string, ...string[]]>(
  values: Values,
  environment: Environment,
  variable: string,
): Values[number] {
  const text = environment[variable];
  if (text === undefined || text === '') return values[0];
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw invalidArg(`${variable} must be ${values.join(' or ')}, got ${JSON.stringify(text)}`);
}

/** Holds the ports of endpoints other than SageMaker's against its range, as `21000-22000`. Throws INVALID_ARG. */
export function checkSafePorts(range: string | undefined, ports: Readonly<Record<string, number | undefined>>): void {
  if (range === undefined) return;
  const [, least, most] = /^([0-9]+)-([0-9]+)$/.exec(range) ?? [];
  if (least === undefined || most === undefined || Number(least) > Number(most)) {
    throw invalidArg(`sagemakerSafePortRange must be like '21000-22000', got '${range}'`);
  }
  for (const [endpoint, port] of Object.entries(ports)) {
    // Port 0 is any that is free.
    if (port !== undefined && port !== 0 && (port < Number(least) || port > Number(most))) {
      throw invalidArg(
        `The server cannot listen to ${endpoint} requests at port ${port}, allowed port range is [${least}, ${most}]`,
      );
    }
  }
}
