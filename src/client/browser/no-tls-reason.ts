// Browsers do not say why TLS failed, and there is no `tls.ca`.

export const LASTING_TLS_CODES: readonly string[] = [];

export function tlsReason(): undefined {}
