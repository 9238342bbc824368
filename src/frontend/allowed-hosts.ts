// The hosts that the server answers for. A page's own DNS can make the page's name lead to this server (DNS rebinding). The page
// then reads answers as if they were its own. The name that the browser sends gives the page away. Addresses and `localhost`
// belong to no page, and the server always answers for them.

import { isIP } from 'node:net';

import { hostName } from '../http1/host.js';

export class AllowedHosts {
  readonly #names: ReadonlySet<string>;
  readonly #domains: readonly string[];

  /**
   * Names in lower case. A name that begins with a dot stands for the domain and all names in it. Without names, all hosts are
   * answered.
   */
  constructor(hosts: readonly string[]) {
    const all = hosts.length === 0 ? hosts : ['.localhost', ...hosts];
    this.#domains = all.filter((host) => host.startsWith('.'));
    this.#names = new Set(all.map((host) => (host.startsWith('.') ? host.slice(1) : host)));
  }

  /** The refusal of a request for a host that is not listed; undefined for a listed one. */
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
