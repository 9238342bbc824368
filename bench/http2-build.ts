// The HTTP/2 connections of the build, which no entry point of the package exports, by what the benchmarks need of them.

interface OutgoingHeaders {
  readonly template: object;
}

export interface Stream {
  receiveInto(target: Uint8Array): void;
  sendData(chunk: Uint8Array, endsStream?: boolean): boolean;
  sendMessage(head: OutgoingHeaders, data: readonly Uint8Array[], trailers: OutgoingHeaders): void;
}

export interface StreamListener {
  onHeaders?(): void;
  onData(chunk: Buffer): void;
  onFilled?(): void;
  onEnd(): void;
  onClose?(error: Error | undefined): void;
}

export interface Fields {
  get(name: string): string | undefined;
}

interface Settings {
  readonly streamWindow?: number;
  readonly connectionWindow?: number;
}

interface Server {
  listen(address: string, port: number): Promise<number>;
  close(graceMilliseconds: number): Promise<void>;
}

interface Client {
  connect(options: {
    readonly host: string;
    readonly port: number;
    readonly connection: Settings;
    readonly listen: () => { onReady?(): void; onClose?(error: Error | undefined): void };
  }): {
    readonly connection: { openStream(headers: OutgoingHeaders, listener: StreamListener): Stream };
    readonly socket: { destroy(): void };
  };
}

export interface Http2Build {
  readonly Http2Server: new (options: {
    readonly listen: () => { onStream(stream: Stream, headers: Fields): StreamListener };
  }) => Server;
  readonly Http2Client: new () => Client;
  readonly HeaderTemplate: new (fields: readonly string[]) => OutgoingHeaders;
}

// Compiled, this module is build/bench/http2-build.js.
export async function loadHttp2Build(): Promise<Http2Build> {
  const load = async <K extends keyof Http2Build>(path: string): Promise<Pick<Http2Build, K>> =>
    (await import(new URL(`../../dist/http2/${path}`, import.meta.url).href)) as Pick<Http2Build, K>;
  return {
    ...(await load<'Http2Server'>('http2-server.js')),
    ...(await load<'Http2Client'>('connect.js')),
    ...(await load<'HeaderTemplate'>('outgoing-headers.js')),
  };
}
