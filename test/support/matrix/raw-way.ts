// Requests one behind the other on one connection, cut into packets anywhere, read slowly, and reset in the middle.
import { binaryMessage, jsonMessage, readAnswer } from './http-message.js';
import { RawConnection, type RawAnswer } from '../raw-http.js';
import type { Question } from './question.js';
import { ANSWERED_ONCE, forwarded, GivenUp, type Link, type Way } from './way.js';

interface Waiting {
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** How many requests a connection carries. */
const MOST_ASKED = 30;

export const pipelined: Way = {
  limits: { models: ANSWERED_ONCE, mostBytes: 300_000 },
  weight: 10,
  isShared: true,
  adds: forwarded,
  open({ http }): Link {
    const port = Number(new URL(http).port);
    const open = new Set<Pipeline>();
    let current: Pipeline | undefined;
    return {
      async ask(question, signal) {
        if (current === undefined || current.isOver || current.asked === MOST_ASKED) {
          current = new Pipeline(port);
          open.add(current);
          void current.ended.then((one) => open.delete(one));
        }
        const { status, headers, body } = await current.ask(question, signal);
        return [readAnswer(status, headers.get('inference-header-content-length'), body)];
      },
      close() {
        for (const one of open) one.reset();
      },
    };
  },
};

class Pipeline {
  asked = 0;
  isOver = false;
  readonly ended: Promise<this>;
  #end!: () => void;
  readonly #connecting: Promise<RawConnection>;
  readonly #waiting: Waiting[] = [];
  #sent: Promise<unknown>;
  #isReset = false;

  constructor(port: number) {
    this.ended = new Promise((resolve) => (this.#end = () => resolve(this)));
    this.#connecting = RawConnection.open(port);
    this.#sent = this.#connecting;
    void this.#connecting.then(
      (connection) => this.#read(connection),
      () => this.#over(),
    );
  }

  ask(question: Question, signal: AbortSignal): Promise<RawAnswer> {
    this.asked++;
    const isLast = this.asked === MOST_ASKED;
    const { path, headers, body } =
      question.manners.draw < 0.3 && question.bytes < 20_000 ? jsonMessage(question) : binaryMessage(question);
    const fields = Object.entries({ host: 'h', ...headers, ...(isLast ? { connection: 'close' } : {}) });
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}content-length: ${body.length}\r\n\r\n`, 'latin1');
    const bytes = Buffer.concat([head, body]);
    const cut = Math.floor(question.manners.draw * bytes.length);
    this.#sent = this.#sent.then(async () => {
      const connection = await this.#connecting;
      if (question.manners.draw > 0.5) await connection.send(bytes);
      else await connection.send(bytes.subarray(0, cut), bytes.subarray(cut));
    });
    this.#sent.catch(() => undefined);
    signal.addEventListener('abort', () => this.reset());
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Of those who share it, nobody gets an answer any more. */
  reset(): void {
    this.#isReset = true;
    void this.#connecting.then(
      (connection) => connection.reset(),
      () => undefined,
    );
    this.#over();
  }

  async #read(connection: RawConnection): Promise<void> {
    for (;;) {
      const answer = await connection.answer();
      const [first] = this.#waiting;
      if (answer === undefined) break;
      this.#waiting.shift();
      first?.resolve(answer);
    }
    this.#over();
  }

  #over(): void {
    this.isOver = true;
    const error = this.#isReset ? new GivenUp('reset') : new Error('the connection was closed without an answer');
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#end();
  }
}
