// The log lines about clients that a stop cut off before all their requests were answered and all answers read.

/** Clients beyond this number are only counted. */
const MOST_NAMED = 20;

export interface CutOffClient {
  /** `address:port`. */
  readonly peer: string;
  /** Bytes of answers that the client has not read. */
  readonly unreadBytes: number;
}

/** `port` is the port's name in the log. */
export function cutOffLines(port: string, clients: readonly CutOffClient[]): readonly string[] {
  const lines = clients.slice(0, MOST_NAMED).map(({ peer, unreadBytes }) => {
    const what = unreadBytes > 0 ? `${unreadBytes} bytes of its answers were not sent` : 'its request was not answered';
    return `${port}: cut off ${peer}: ${what}`;
  });
  const more = clients.length - lines.length;
  return more > 0 ? [...lines, `${port}: cut off ${more} more clients`] : lines;
}
