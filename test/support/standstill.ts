// A thread that stood still, as a frozen container does, without the time that this takes: for a server of the test's own thread.

import { once } from 'node:events';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { setImmediate as turn } from 'node:timers/promises';
import { vi } from 'vitest';

const STANDSTILL_MILLISECONDS = 600_000;
const INTERVAL_MILLISECONDS = 500;

/** After the time of a timer is over, what has come by then is read. */
export const READING = 2;

/** The time goes on by so much, and the timers come that much too late. */
export function standStill(milliseconds: number): void {
  // It may have done so before.
  const spied: unknown = performance.now;
  const mocked = vi.isMockFunction(spied) ? spied.getMockImplementation() : undefined;
  const now = (mocked as (() => number) | undefined) ?? performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
}

/** To be called before the server starts. Its intervals go only with the time that passes here from then on. */
export function stoppedClock() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const tick = async (): Promise<void> => {
    vi.advanceTimersByTime(INTERVAL_MILLISECONDS);
    for (let i = 0; i < 5; i++) await turn();
  };
  return {
    goOn(): void {
      vi.useRealTimers();
      vi.restoreAllMocks();
    },
    async standstill(): Promise<void> {
      // They have looked at everything once.
      await tick();
      ahead += STANDSTILL_MILLISECONDS;
      await tick();
    },
    /** All of it counts, for the server looks every half second. */
    async pass(seconds: number): Promise<void> {
      for (let passed = 0; passed < 1000 * seconds; passed += INTERVAL_MILLISECONDS) {
        ahead += INTERVAL_MILLISECONDS;
        await tick();
      }
    },
  };
}

/** A client that stops after its first message until `go` is called, and says 'waiting' then. */
export function slowHandshake(port: number): { readonly socket: TLSSocket; go(): void } {
  const raw = connect(port, '127.0.0.1');
  let goOn = (): void => undefined;
  const going = new Promise<void>((resolve) => (goOn = resolve));
  let hasGreeted = false;
  const wire = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, next) {
      if (!hasGreeted) {
        hasGreeted = true;
        raw.write(chunk, next);
        return;
      }
      socket.emit('waiting');
      void going.then(() => raw.write(chunk, next));
    },
    destroy(_error, done) {
      raw.destroy();
      done(null);
    },
  });
  raw.on('data', (chunk: Buffer) => wire.push(chunk));
  raw.on('error', () => undefined);
  void once(raw, 'close').then(() => wire.destroy());
  const socket = connectTls({ socket: wire, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  return { socket, go: goOn };
}
