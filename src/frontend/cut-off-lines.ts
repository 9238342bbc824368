// What the log says of clients whose connections a stop ended before all was answered and read.

/** Further ones are counted. */
const MOST_NAMED = 20;

export interface CutOffClient {
  /** `address:port`. */
  readonly peer: string;
  /** Of answers. */
  readonly unreadBytes: number;
}

/** `port`: as the log names it. */
export function cutOffLines(port: string, clients: readonly CutOffClient[]): readonly string[] {
  const lines = clients.slice(0, MOST_NAMED).map(({ peer, unreadBytes }) => {
    const what = unreadBytes > 0 ? `${unreadBytes} bytes of its answers were not sent` : 'its request was not answered';
    return `${port}: cut off ${peer}: ${what}`;
  });
  const more = clients.length - lines.length;
  return more > 0 ? [...lines, `${port}: cut off ${more} more clients`] : lines;
}
