// One HTTP/1.x connection, byte by byte: tests say what goes out and look at what comes back.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

export interface RawAnswer {
  readonly version: string;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export class RawConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #closed = false;
  #changed: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (piece) => {
      this.#received = Buffer.concat([this.#received, piece]);
      this.#changed();
    });
    // A server that closes before it has read everything resets the connection: for tests a close like any other.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#closed = true;
      this.#changed();
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** Each part in a packet of its own. */
  async send(...parts: readonly (string | Uint8Array)[]): Promise<void> {
    for (const part of parts) {
      this.#socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
      // Enough turns of the loop for a server in this process to read it.
      for (let i = 0; i < 3; i++) await turn();
    }
  }

  /** Closes the sending half, as `nc -N` does: what the server sends still comes. */
  end(): void {
    this.#socket.end();
  }

  /** Ends the connection by RST, unless it has sent its end: Node cannot reset it then, and would keep the socket open. */
  reset(): void {
    if (this.#socket.writableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  /** The next answer, interim ones too; undefined when the connection ends before it is complete. */
  async answer({ toHead = false } = {}): Promise<RawAnswer | undefined> {
    for (;;) {
      const found = parseAnswer(this.#received, toHead, this.#closed);
      if (found !== undefined) {
        this.#received = this.#received.subarray(found.end);
        return found.answer;
      }
      if (this.#closed) return undefined;
      await this.#change();
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.#closed) await this.#change();
  }

  /** What came and was not read as an answer. */
  get rest(): Buffer {
    return this.#received;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    while (!this.#closed) await this.#change();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => (this.#changed = resolve));
  }
}

function parseAnswer(
  bytes: Buffer,
  toHead: boolean,
  ended: boolean,
): { readonly answer: RawAnswer; readonly end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const [version = '', code = ''] = first.split(' ');
  const status = Number(code);
  const start = headEnd + 4;
  const made = (body: Buffer, end: number) => ({ answer: { version, status, headers, body }, end });
  if (toHead || status < 200 || status === 204 || status === 304) return made(Buffer.alloc(0), start);
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunks = readChunks(bytes, start);
    return chunks === undefined ? undefined : made(chunks.body, chunks.end);
  }
  const length = headers.get('content-length');
  if (length === undefined) return ended ? made(bytes.subarray(start), bytes.length) : undefined;
  const end = start + Number(length);
  return bytes.length < end ? undefined : made(bytes.subarray(start, end), end);
}

function readChunks(bytes: Buffer, start: number): { readonly body: Buffer; readonly end: number } | undefined {
  const chunks: Buffer[] = [];
  for (let offset = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', offset);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', offset, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), end: next };
    chunks.push(bytes.subarray(lineEnd + 2, next - 2));
    offset = next;
  }
}
