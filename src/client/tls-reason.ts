// Why TLS failed, in words for the user of a client. Node's own texts differ from version to version, name a flag of Node's in
// place of an option that is ours, or are a line of OpenSSL's with a path of its source.

const UNKNOWN_AUTHORITY = 'certificate of an unknown authority; to trust that, give it in tls.ca';
const CERTIFICATE_REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate; to trust it, give it in tls.ca',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in the chain; to trust its authority, give that in tls.ca',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
};
const OPENSSL = /:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):/;

/** Codes of errors that the next attempt meets again, all before there is a connection. */
export const LASTING_TLS_CODES: readonly string[] = Object.keys(CERTIFICATE_REASONS);

/** Undefined for other failures. */
export function tlsReason(code: string, message: string): string | undefined {
  const [, reason] = OPENSSL.exec(message) ?? [];
  if (reason === undefined) return CERTIFICATE_REASONS[code];
  if (reason === 'wrong version number') return 'it speaks no TLS; is it http:// or grpc://?';
  // Of ALPN.
  if (reason.endsWith('no application protocol')) return 'it speaks another protocol; is it https:// or grpcs://?';
  return `TLS failed: ${reason}`;
}
