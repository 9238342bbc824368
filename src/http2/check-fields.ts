// Finds malformed fields of messages (RFC 9113, sections 8.2 and 8.3). Pseudo-header fields may be unknown, missing, doubled or
// out of place; fields about a connection of HTTP/1.1 are forbidden. Bytes are checked where they are decoded.

export type MessagePart = 'request' | 'response' | 'trailers';

/** Of HTTP/1.1's connections (section 8.2.2). */
const CONNECTION_FIELDS = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

const REQUEST_PSEUDO = new Set([':method', ':scheme', ':path', ':authority']);
const RESPONSE_PSEUDO = new Set([':status']);
const NO_PSEUDO: ReadonlySet<string> = new Set();

const STATUS = /^[1-5][0-9]{2}$/;
const DIGITS = /^[0-9]{1,15}$/;

/** In a few words, for the connection's log; undefined when the fields are fine. */
export function findProblem(fields: readonly string[], part: MessagePart): string | undefined {
  const allowed = part === 'request' ? REQUEST_PSEUDO : part === 'response' ? RESPONSE_PSEUDO : NO_PSEUDO;
  const pseudo = new Map<string, string>();
  let contentLength: string | undefined;
  let hasRegular = false;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    if (name.charCodeAt(0) === 0x3a) {
      if (!allowed.has(name)) return `${name} in ${part === 'trailers' ? part : `a ${part}`}`;
      if (hasRegular) return `${name} after a regular field`;
      if (pseudo.has(name)) return `${name} twice`;
      pseudo.set(name, value);
      continue;
    }
    hasRegular = true;
    if (CONNECTION_FIELDS.has(name)) return `the connection-specific field ${name}`;
    if (name === 'te' && value !== 'trailers') return 'te with another value than trailers';
    if (name === 'content-length') {
      if (!DIGITS.test(value)) return `content-length '${value}'`;
      if (contentLength !== undefined && contentLength !== value) return 'content-length twice';
      contentLength = value;
    }
  }
  if (part === 'request') return findRequestProblem(pseudo);
  if (part === 'response') return STATUS.test(pseudo.get(':status') ?? '') ? undefined : 'no :status of three digits';
  return undefined;
}

function findRequestProblem(pseudo: ReadonlyMap<string, string>): string | undefined {
  const method = pseudo.get(':method');
  if (!method) return 'no :method';
  // It names an authority to connect to, and nothing else (section 8.5).
  if (method === 'CONNECT') {
    if (pseudo.has(':scheme') || pseudo.has(':path')) return 'CONNECT with :scheme or :path';
    return pseudo.get(':authority') ? undefined : 'CONNECT without :authority';
  }
  if (!pseudo.get(':scheme')) return 'no :scheme';
  const path = pseudo.get(':path');
  if (!path) return 'no :path';
  return path.startsWith('/') || (path === '*' && method === 'OPTIONS') ? undefined : `:path '${path}'`;
}
