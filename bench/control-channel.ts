// The control channel of a measured process: it tells its ports once (a line of JSON on standard output, and a message
// when it was forked), and then answers questions of the process that forked it. It ends when that process does.

export interface Usage {
  /** Microseconds of user and system time, of all threads of the process. */
  readonly cpu: number;
  readonly rss: number;
  readonly heapUsed: number;
  /** Milliseconds of this process's own monotonic clock, taken together with `cpu`. */
  readonly at: number;
}

export interface ControlRequest {
  readonly id: number;
  readonly kind: 'usage' | 'load' | 'stop';
  readonly argument?: unknown;
}

export type ControlReply =
  | { readonly kind: 'ports'; readonly ports: Readonly<Record<string, number>> }
  | { readonly kind: 'notice'; readonly id: number; readonly notice: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string };

export interface Controlled {
  readonly ports: Readonly<Record<string, number>>;
  readonly load?: (argument: unknown, notify: (notice: string) => void) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const at = performance.now();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpu: user + system, rss, heapUsed, at };
}

function answer(controlled: Controlled, request: ControlRequest): unknown {
  switch (request.kind) {
    case 'usage':
      return usage();
    case 'load':
      if (!controlled.load) throw new Error('this process generates no load');
      return controlled.load(request.argument, (notice) => reply({ kind: 'notice', id: request.id, notice }));
    case 'stop':
      return controlled.stop();
  }
}

function reply(message: ControlReply): void {
  if (process.connected) process.send?.(message);
}

async function respond(controlled: Controlled, request: ControlRequest): Promise<void> {
  const { id } = request;
  try {
    reply({ kind: 'answer', id, answer: await answer(controlled, request) });
  } catch (error) {
    reply({ kind: 'failure', id, message: (error as Error).message });
  }
  // Without the channel nothing of a server that has stopped keeps the process alive.
  if (request.kind === 'stop' && process.connected) process.disconnect();
}

/** Announces the process and serves its control channel for as long as the process lives. */
export function serveControl(controlled: Controlled): void {
  process.stdout.write(`${JSON.stringify(controlled.ports)}\n`);
  if (!process.send) return; // started by hand: no channel, stop it with a signal
  let stopping = false;
  process.on('message', (message) => {
    const request = message as ControlRequest;
    stopping ||= request.kind === 'stop';
    void respond(controlled, request);
  });
  process.on('disconnect', () => {
    if (!stopping) process.exit(1);
  });
  reply({ kind: 'ports', ports: controlled.ports });
}
