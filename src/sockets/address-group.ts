// Who counts as one client: an address of IPv4, or of IPv6 the network of 64 bits that one subscriber has.

const NETWORK_HEXTETS = 4;
const HEXTETS = 8;
/** How IPv4 addresses look on a port that takes both. */
const MAPPED = '::ffff:';

/** A name that addresses of one client share. */
export function addressGroup(address: string): string {
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length);
  if (!address.includes(':')) return address;
  const [before = '', after] = address.split('::');
  const first = before === '' ? [] : before.split(':');
  const last = after === undefined || after === '' ? [] : after.split(':');
  const zeros = Array.from({ length: Math.max(0, HEXTETS - first.length - last.length) }, () => '0');
  return [...first, ...zeros, ...last].slice(0, NETWORK_HEXTETS).join(':');
}
