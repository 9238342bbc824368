// The client's own metadata of a call, without the names that gRPC and HTTP/2 reserve. A Triton server with
// `--grpc-header-forward-pattern '.*'` hides the same names from its models.

import { listElements } from '../../ascii.js';

/** `user-agent`, `accept-encoding` and `content-length` are not among them: Triton forwards those. */
const TRANSPORT: ReadonlySet<string> = new Set([
  'host',
  'te',
  'content-type',
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
  'grpc-internal-encoding-request',
  'grpc-message',
  'grpc-status',
  'grpc-server-stats-bin',
  'grpc-tags-bin',
  'grpc-trace-bin',
  'endpoint-load-metrics-bin',
]);

/** A flat list of names and values, as `headers` is. Binary values are decoded to text. */
export function applicationMetadata(headers: readonly string[]): readonly string[] {
  const metadata: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.startsWith(':') || TRANSPORT.has(name)) continue;
    const value = headers[i + 1]!;
    metadata.push(name, name.endsWith('-bin') ? decodeBinary(value) : value);
  }
  return metadata;
}

function decodeBinary(value: string): string {
  // Values of one name may be joined by commas, each encoded by itself.
  return listElements(value)
    .map((part) => Buffer.from(part, 'base64').toString())
    .join(', ');
}
