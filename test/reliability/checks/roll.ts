// Two servers behind a balancer of connections that asks them for readiness, restarted in turns under load: no request fails (R7).
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { Triton } from 'tstriton';

import { FREE_PORTS, type RunningServer } from '../../support/start-server.js';
import { pause, plain, type Check } from '../check.js';
import { answerAll, ask, clientsOf, echo } from './served.js';

const RESTARTS = 10;
const ASK_EVERY_MS = 100;
const SHUTDOWN_DELAY_SECS = 2;
const CALLERS = 16;

/** Whether a server is ready, as a balancer knows: from the last time that it asked. */
class Backend {
  isReady = false;
  #isOver = false;
  readonly triton = new Triton({ ...FREE_PORTS, shutdownDelaySecs: SHUTDOWN_DELAY_SECS });

  constructor() {
    this.triton.bind({
      ...echo,
      inferFunc: async (all) => {
        await pause(5);
        return answerAll(all);
      },
    });
  }

  async watch(): Promise<void> {
    while (!this.#isOver) {
      this.isReady = await fetch(`http://127.0.0.1:${this.triton.httpPort ?? 1}/v2/health/ready`).then(
        async (answer) => (await answer.arrayBuffer(), answer.status === 200),
        () => false,
      );
      await pause(ASK_EVERY_MS);
    }
  }

  end(): void {
    this.#isOver = true;
  }
}

async function balance(backends: readonly Backend[], port: (triton: Triton) => number) {
  let turn = 0;
  const open = new Set<Socket>();
  const balancer = createServer((client) => {
    const ready = backends.filter(({ isReady }) => isReady);
    const backend = ready[turn++ % ready.length];
    if (backend === undefined) return void client.destroy();
    const server = connect(port(backend.triton), '127.0.0.1');
    for (const socket of [client, server]) {
      open.add(socket);
      socket.setNoDelay().on('close', () => open.delete(socket));
    }
    client.on('error', () => server.destroy());
    server.on('error', () => client.destroy());
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
  return {
    port: (balancer.address() as AddressInfo).port,
    close: () => {
      balancer.close();
      for (const socket of open) socket.destroy();
    },
  };
}

export const roll: Check = {
  about: `two servers behind a balancer of connections, ${RESTARTS} restarts under load, no retries, shutdownDelaySecs ${SHUTDOWN_DELAY_SECS}`,
  async run() {
    const backends = [new Backend(), new Backend()];
    for (const { triton } of backends) await triton.run();
    const watched = backends.map((backend) => backend.watch());
    while (!backends.every(({ isReady }) => isReady)) await pause(ASK_EVERY_MS);
    const http = await balance(backends, (triton) => triton.httpPort!);
    const grpc = await balance(backends, (triton) => triton.grpcPort!);
    const clients = clientsOf({
      http: `http://127.0.0.1:${http.port}`,
      grpc: `grpc://127.0.0.1:${grpc.port}`,
    } as RunningServer);
    const counts = clients.map(() => ({ answered: 0, failed: 0 }));
    let isOver = false;
    const callers = Array.from({ length: CALLERS }, async (_, i) => {
      const count = counts[i % 2]!;
      let calls = 0;
      while (!isOver) {
        await ask(clients[i % 2]!, CALLERS * calls++ + i).then(
          () => count.answered++,
          (error: unknown) => {
            if (count.failed++ < 3) console.error(error);
          },
        );
      }
    });
    for (let i = 0; i < RESTARTS; i++) {
      const backend = backends[i % 2]!;
      await backend.triton.stop();
      await backend.triton.run();
      while (!backend.isReady) await pause(ASK_EVERY_MS);
    }
    isOver = true;
    await Promise.all(callers);
    for (const backend of backends) backend.end();
    await Promise.all([...watched, ...clients.map((client) => client.close())]);
    for (const { close } of [http, grpc]) close();
    for (const { triton } of backends) await triton.stop();
    return ['HTTP', 'gRPC'].flatMap((protocol, i) => {
      const { answered, failed } = counts[i]!;
      return [
        plain(`${protocol}: answered`, answered),
        { what: `${protocol}: failed`, got: String(failed), wanted: '0', isMet: failed === 0 },
      ];
    });
  },
};
