// What our server says of options, environment variables and calls that it refuses, by the label of the recorded case:
// the part of the text that tells the mistake.
import type { ErrorCode } from 'tstriton';
import type { Refusal } from './refusal.js';

type Texts = Readonly<Record<string, string>>;

function refusals(code: ErrorCode, texts: Texts): Readonly<Record<string, Refusal>> {
  return Object.fromEntries(Object.entries(texts).map(([label, text]) => [label, { code, text }]));
}

const NO_CALLABLE = "inferFunc of model 'm' must be a function";

/** Where PyTriton refuses too. */
export const LIFECYCLE_REFUSALS: Readonly<Record<string, Refusal>> = {
  ...refusals('INVALID_ARG', {
    'environment-variable HTTP_PORT=abc': 'PYTRITON_TRITON_CONFIG_HTTP_PORT must be an integer, got "abc"',
    'environment-variable HTTP_PORT=': 'PYTRITON_TRITON_CONFIG_HTTP_PORT must be an integer, got ""',
    'environment-variable HTTP_PORT=9000.5': 'PYTRITON_TRITON_CONFIG_HTTP_PORT must be an integer, got "9000.5"',
    'config-both-protocols-off': 'the HTTP or the gRPC endpoint has to be allowed',
    'config-positional': 'TritonConfig must be an object, got 8000',
    'config-unknown-field': "unknown option 'nope'",
    'security-config {"restricted_endpoints":["nope"]}': "unknown API 'nope'",
    'security-config {"restricted_endpoints":["model_repository"]}': "unknown API 'model_repository'",
    'security-config-empty-token': 'accessToken must be a non-empty string',
    'triton-positional': 'TritonConfig must be an object, got "models"',
    'bind-name null': 'modelName must be a string',
    'bind-name 5': 'modelName must be a string, got 5',
    'bind-callable None': NO_CALLABLE,
    'bind-callable 5': NO_CALLABLE,
    'bind-callable dict': NO_CALLABLE,
  }),
  ...refusals('ALREADY_EXISTS', {
    'bind-same-name': 'Cannot add model with the same name twice',
    'bind-same-name-after-run': 'Cannot add model with the same name twice',
  }),
};

/** Where PyTriton goes on. */
export const MORE_LIFECYCLE_REFUSALS: Readonly<Record<string, Refusal>> = {
  ...refusals('INVALID_ARG', {
    'environment-variable ALLOW_METRICS=': 'PYTRITON_TRITON_CONFIG_ALLOW_METRICS must be true or false',
    'config-from-dict-unknown': "unknown option 'nope'",
    'config-text-port': 'httpPort must be an integer from 0 to 65535, got "x"',
    'bind-name "newline\\n"': 'Model name can only contain alphanumeric characters, dots, underscores and dashes',
    'bind-name "."': 'Model name "." is a path, not a name',
    'bind-name ".."': 'Model name ".." is a path, not a name',
    'bind-callable text': NO_CALLABLE,
    'bind-callable class': "inferFunc of model 'm' is the class Model",
    'bind-callable empty list': "inferFunc of model 'm' is an empty list",
    'bind-callable list with None': NO_CALLABLE,
    'bind-inputs-none': "inputs of model 'm' must be",
    'bind-version-text': 'modelVersion of model \'m\' must be an integer >= 1, got "one"',
    'bind-version-zero': "modelVersion of model 'm' must be an integer >= 1, got 0",
  }),
  ...refusals('UNSUPPORTED', {
    'environment-variable MODEL_REPOSITORY=m': 'PYTRITON_TRITON_CONFIG_MODEL_REPOSITORY is not supported',
  }),
  ...refusals('ALREADY_EXISTS', { 'run-twice': 'the server runs already' }),
  ...refusals('UNAVAILABLE', {
    'port-taken http': 'already in use',
    'port-taken grpc': 'already in use',
    'port-taken metrics': 'already in use',
  }),
};
