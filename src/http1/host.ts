// The host that a request is for (RFC 3986, section 3.2.2). HTTP/2 has it as `:authority`.

import { isIPv6 } from 'node:net';

import { lowerCase } from '../ascii.js';

/** An address in brackets, or a name, which may be empty; then perhaps a port. */
const FORM =
  /^(?:\[(?:([0-9A-Fa-f:.]+)|v[0-9A-Fa-f]+\.[\w.~!$&'()*+,;=:-]+)\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;
/** The host and the port of a whole URL. */
const AUTHORITY = /^[A-Za-z]+:\/\/([^/?#]*)/;

/** Whether a text is a host and perhaps a port. */
export function isHost(text: string): boolean {
  const [match, address] = FORM.exec(text) ?? [];
  return match !== undefined && (address === undefined || isIPv6(address));
}

/** Of a request target that is a whole URL; undefined for any other. */
export function authorityOf(target: string): string | undefined {
  return target.startsWith('/') ? undefined : AUTHORITY.exec(target)?.[1];
}

/** In lower case, without the port, an address without its brackets. `host` is one. */
export function hostName(host: string): string {
  const name = lowerCase(host.replace(/:[0-9]*$/, ''));
  return name.startsWith('[') ? name.slice(1, -1) : name;
}
