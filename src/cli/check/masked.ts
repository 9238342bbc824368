// Values of the environment for a report that is shown to others: what may be a secret is left out.

const SECRET_NAME = /TOKEN|SECRET|KEY|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION/i;
/** They have a header with its secret value behind the equals sign. */
const RESTRICTION = /RESTRICTED_(API|PROTOCOL)/i;
const SECRET_VALUE = /\b(Bearer|Basic)\s+\S+/gi;
const CREDENTIALS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
const ASSIGNED = /((?:token|secret|key|passw\w*|credential\w*|auth\w*)["']?\s*[=:]\s*)[^\s,;&"']+/gi;

const MASK = '***';

export function masked(name: string, value: string): string {
  if (SECRET_NAME.test(name) || RESTRICTION.test(name)) return MASK;
  return value.replace(CREDENTIALS, `$1${MASK}@`).replace(SECRET_VALUE, `$1 ${MASK}`).replace(ASSIGNED, `$1${MASK}`);
}

const TOLD =
  /^(TSTRITON_|PYTRITON_|AIP_|SAGEMAKER_|OTEL_)|^(NODE_OPTIONS|NODE_EXTRA_CA_CERTS|UV_THREADPOOL_SIZE|https?_proxy|no_proxy|NO_COLOR|FORCE_COLOR)$/i;

/** The variables that have an effect on a server, sorted. */
export function toldVariables(
  env: Readonly<Record<string, string | undefined>>,
): readonly (readonly [string, string])[] {
  return Object.entries(env)
    .flatMap(([name, value]) => (value !== undefined && TOLD.test(name) ? [[name, masked(name, value)] as const] : []))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
