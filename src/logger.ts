// The server's log in Triton's line format: `I1120 18:05:56.123000 4711 server.js] message`, buffered by the
// stream it writes to. Messages that come from outside are kept on one line.

export type LogLevel = 'error' | 'warning' | 'info' | 'verbose';

const LETTER = { error: 'E', warning: 'W', info: 'I', verbose: 'I' } as const satisfies Record<LogLevel, string>;

export interface LogSink {
  write(line: string): void;
}

/** Writes log lines; verbose ones only up to its level. */
export class ServerLogger {
  readonly verboseLevel: number;
  readonly #sink: LogSink;

  /** `verboseLevel` 0 writes no verbose lines. */
  constructor(sink: LogSink, verboseLevel = 0) {
    this.#sink = sink;
    this.verboseLevel = verboseLevel;
  }

  error(message: string): void {
    this.#write('error', message);
  }

  warn(message: string): void {
    this.#write('warning', message);
  }

  info(message: string): void {
    this.#write('info', message);
  }

  verbose(level: number, message: string): void {
    if (level <= this.verboseLevel) this.#write('verbose', message);
  }

  #write(level: LogLevel, message: string): void {
    this.#sink.write(`${LETTER[level]}${timestamp(new Date())} ${process.pid}] ${oneLine(message)}\n`);
  }
}

function timestamp(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const millis = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getMonth() + 1)}${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}000`;
}

// A client must not be able to forge log lines.
function oneLine(message: string): string {
  return /[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(message)
    ? message.replace(
        /[\u0000-\u001f\u007f\u0085\u2028\u2029]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    : message;
}
