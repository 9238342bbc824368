// Decides which entries the server's log writes, and makes their text. In Triton's formats,
// `I1120 18:05:56.123000 4711] message` or with a time of ISO 8601, a message from outside stays on one line. The
// frames of a stack have lines of their own, which begin with spaces; no entry does. As JSON an entry is one line. The
// logging extension may change the settings while the server runs.

export type LogLevel = 'error' | 'warning' | 'info' | 'verbose';

export const LOG_FORMATS = ['default', 'ISO8601', 'json'] as const;

export type LogFormat = (typeof LOG_FORMATS)[number];

/** Which entries are written, and in which format. */
export interface LogSettings {
  readonly error: boolean;
  readonly warning: boolean;
  readonly info: boolean;
  /** The highest level of verbose lines that are written; 0 for none. */
  readonly verboseLevel: number;
  readonly format: LogFormat;
}

export const DEFAULT_LOG_SETTINGS: LogSettings = {
  error: true,
  warning: true,
  info: true,
  verboseLevel: 0,
  format: 'default',
};

const LETTER = { error: 'E', warning: 'W', info: 'I', verbose: 'I' } as const satisfies Record<LogLevel, string>;

export interface LogEntry {
  readonly level: LogLevel;
  readonly message: string;
  readonly format: LogFormat;
}

export interface LogSink {
  write(entry: LogEntry): void;
}

/** The user's own logger, such as the console or a library's. It gets unescaped messages. */
export interface ExternalLogger {
  /** Gets the verbose entries. */
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Hands on the entries that its settings let through. */
export class ServerLogger {
  /** Verbose lines above this level are not written, so they need not be made. */
  verboseLevel: number;
  readonly #sink: LogSink;
  #settings: LogSettings;

  constructor(sink: LogSink, settings: Partial<LogSettings> = {}) {
    this.#sink = sink;
    this.#settings = { ...DEFAULT_LOG_SETTINGS, ...settings };
    this.verboseLevel = this.#settings.verboseLevel;
  }

  get settings(): LogSettings {
    return this.#settings;
  }

  /** Changes the given settings. */
  configure(settings: Partial<LogSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
    this.verboseLevel = this.#settings.verboseLevel;
  }

  error(message: string): void {
    if (this.#settings.error) this.#write('error', message);
  }

  warn(message: string): void {
    if (this.#settings.warning) this.#write('warning', message);
  }

  info(message: string): void {
    if (this.#settings.info) this.#write('info', message);
  }

  verbose(level: number, message: string): void {
    if (level <= this.#settings.verboseLevel) this.#write('verbose', message);
  }

  #write(level: LogLevel, message: string): void {
    this.#sink.write({ level, message, format: this.#settings.format });
  }
}

/** An entry of now as a line, or, with the frames of a stack, lines. */
export function logLine({ level, message, format }: LogEntry): string {
  const { pid } = process;
  const now = new Date();
  switch (format) {
    case 'json':
      return `${jsonLine({ time: now.toISOString(), level, pid, message })}\n`;
    case 'default':
      return `${shortHead(LETTER[level], now)} ${pid}] ${withFrames(message)}\n`;
    case 'ISO8601':
      return `${isoHead(LETTER[level], now)} ${pid}] ${withFrames(message)}\n`;
  }
}

// JSON does not escape all characters that break lines or drive terminals.
function jsonLine(members: Readonly<Record<string, string | number>>): string {
  return escapeControls(JSON.stringify(members));
}

function isoHead(letter: string, date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z ${letter}`;
}

function shortHead(letter: string, date: Date): string {
  return letter + timestamp(date);
}

function timestamp(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const millis = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getMonth() + 1)}${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}000`;
}

/** One line, but for the frames of a stack. */
function withFrames(message: string): string {
  if (!message.includes('\n    at ')) return escapeControls(message);
  return message
    .split(/\n(?= {4}at )/)
    .map(escapeControls)
    .join('\n');
}

// A client must not be able to forge log lines.
function escapeControls(text: string): string {
  return /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)
    ? text.replace(
        /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    : text;
}
