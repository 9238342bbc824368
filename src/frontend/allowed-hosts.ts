// Which hosts are answered. A page whose name is made to lead to this server by its own DNS (DNS rebinding) reads answers as if they
// were its own: the name that the browser sends gives it away. Addresses and `localhost` are nobody's names, and are always answered.

import { isIP } from 'node:net';

import { hostName } from '../http1/host.js';

export class AllowedHosts {
  readonly #names: ReadonlySet<string>;
  readonly #domains: readonly string[];

  /** Names in lower case; one that begins with a dot stands for the domain and all names in it. None: all are answered. */
  constructor(hosts: readonly string[]) {
    const all = hosts.length === 0 ? hosts : ['.localhost', ...hosts];
    this.#domains = all.filter((host) => host.startsWith('.'));
    this.#names = new Set(all.map((host) => (host.startsWith('.') ? host.slice(1) : host)));
  }

  /** What a request is told whose host is not answered; undefined for one that is. */
  refusal(host: string | undefined): string | undefined {
    if (this.#names.size === 0 || this.#allows(host ?? '')) return undefined;
    return `host '${host ?? ''}' is not answered, see the option allowedHosts`;
  }

  #allows(host: string): boolean {
    // A dot at the end says that a name is whole.
    const name = hostName(host).replace(/\.$/, '');
    return isIP(name) !== 0 || this.#names.has(name) || this.#domains.some((domain) => name.endsWith(domain));
  }
}
