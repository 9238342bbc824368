// One load run: opens all connections, keeps them busy for a lead-in and a measured window, then waits for what is still
// in flight, so that an answer that never comes is counted as an error instead of being cut off.

import { GrpcLoadConnection } from './grpc-load-connection.js';
import type { GrpcTarget } from './grpc-load-connection.js';
import { HttpLoadConnection } from './http-load-connection.js';
import type { HttpTarget } from './http-load-connection.js';
import { LargeLoadConnection } from './large-load-connection.js';
import type { LargeTarget } from './large-load-connection.js';
import { LoadWindow, reportOf } from './load-window.js';
import type { LoadConnection, LoadReport } from './load-window.js';

export type LoadTarget = HttpTarget | GrpcTarget | LargeTarget;

export interface LoadOrder {
  readonly target: LoadTarget;
  readonly leadInSeconds: number;
  readonly seconds: number;
}

const DRAIN_SECONDS = 5;

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

function openOne(target: LoadTarget, window: LoadWindow): Promise<LoadConnection> {
  switch (target.protocol) {
    case 'http':
      return HttpLoadConnection.open(target, window);
    case 'grpc':
      return GrpcLoadConnection.open(target, window);
    case 'large':
      return LargeLoadConnection.open(target, window);
  }
}

function openAll(target: LoadTarget, window: LoadWindow): Promise<readonly LoadConnection[]> {
  return Promise.all(Array.from({ length: target.connections }, () => openOne(target, window)));
}

async function drain(connections: readonly LoadConnection[], window: LoadWindow): Promise<void> {
  const unanswered = (): number => connections.reduce((sum, connection) => sum + connection.unanswered, 0);
  const deadline = performance.now() + DRAIN_SECONDS * 1000;
  while (unanswered() > 0 && performance.now() < deadline) await sleep(0.002);
  for (let missing = unanswered(); missing > 0; missing--) window.failed('an answer never came');
}

/** `onWindow` is called at the two moments that bound the measured window. */
export async function runLoad(order: LoadOrder, onWindow: (edge: 'begin' | 'end') => void): Promise<LoadReport> {
  const window = new LoadWindow();
  const connections = await openAll(order.target, window);
  for (const connection of connections) connection.start();
  await sleep(order.leadInSeconds);

  const cpu = process.cpuUsage();
  window.begin();
  onWindow('begin');
  await sleep(order.seconds);
  window.end();
  const spent = process.cpuUsage(cpu);
  onWindow('end');

  await drain(connections, window);
  for (const connection of connections) connection.close();
  return reportOf(window, spent.user + spent.system);
}
