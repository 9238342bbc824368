// Runs tritonserver, and sees to it that it does not outlive this process.

import { type ChildProcess, spawn } from 'node:child_process';

import { TritonError } from '../errors.js';
import type { Logger } from '../observability/logger.js';
import { LogLines } from './log-lines.js';

/**
 * The script holds the other end of its standard input, so it learns when this process ends, however that ends. Then, as
 * at a stop, tritonserver may finish for $1 seconds, and the folder $2 is removed. Shared memory whose name begins with $3
 * is removed in any case, because a killed tritonserver leaves it behind.
 */
const SCRIPT = `
limit=$1; folder=$2; shared=$3; shift 3
exec 3<&0
"$@" < /dev/null 3<&- &
server=$!
(
  cat <&3 > /dev/null
  : > "$folder/ending"
  kill -TERM $server
  sleep "$limit"
  kill -KILL $server
) > /dev/null 2>&1 &
exec < /dev/null 3<&-
wait $server
code=$?
rm -f /dev/shm/"$shared"*
if [ -e "$folder/ending" ]; then rm -rf -- "$folder"; fi
trap '' TERM
kill -TERM 0
exit $code
`;

export interface ProcessOptions {
  readonly binary: string;
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** It may finish for so long. */
  readonly limitSecs: number;
  /** The folder that is removed at its end. */
  readonly folder: string;
  /** The beginning of the names of its shared memory. */
  readonly sharedMemory: string;
}

export class TritonserverProcess {
  readonly #child: ChildProcess;
  readonly #lines: LogLines;
  /** Resolves when tritonserver has ended, with the reason. */
  readonly ended: Promise<TritonError>;
  #isOver = false;

  constructor({ binary, flags, environment, logger, limitSecs, folder, sharedMemory }: ProcessOptions) {
    this.#lines = new LogLines(logger);
    const script = ['-c', SCRIPT, 'tstriton', String(limitSecs), folder, sharedMemory, binary, ...flags];
    this.#child = spawn('/bin/sh', script, {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A Ctrl-C in the terminal is for this process alone.
      detached: true,
    });
    this.#child.stdin!.on('error', () => undefined);
    for (const output of [this.#child.stdout!, this.#child.stderr!])
      output.on('data', (chunk: Buffer) => this.#lines.push(chunk));
    this.ended = new Promise((resolve) => {
      const over = (how: string) => {
        this.#isOver = true;
        this.#lines.end();
        const { reason } = this.#lines;
        resolve(new TritonError('UNAVAILABLE', `tritonserver ended${how}${reason === '' ? '' : `: ${reason}`}`));
      };
      this.#child.on('error', (error) => over(`: ${error.message}`));
      this.#child.on('exit', (code, signal) => {
        // Processes of its models that are still there.
        this.#killAll();
        over(` with ${signal ?? `code ${code}`}`);
      });
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Lets it finish, within its limit. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#child.stdin!.end();
    await this.ended;
  }

  /** Ends it and the processes of its models at once. */
  async kill(): Promise<void> {
    this.#killAll();
    await this.ended;
  }

  #killAll(): void {
    const { pid } = this.#child;
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
  }
}
