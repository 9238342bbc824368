// What the page asks the server for, beside the protocol's own endpoints: the declarations of the models, which the protocol's
// configuration shows only in part, and the figures that its charts are drawn from. The page's sources import these types.

import type { LogLevel } from '../../logger.js';
import type { OpenAiEndpoint } from '../../model/openai.js';
import type { RepositoryState } from '../../model/repository-model.js';
import type { BoxForm } from '../../model/tensor-spec.js';
import type { Datatype, Dtype } from '../../tensor/dtype.js';

/** `GET /page/models`. */
export interface PageModelsJson {
  readonly server: {
    readonly name: string;
    readonly version: string;
    /** Undefined where gRPC is off. */
    readonly grpcPort?: number;
  };
  /** The versions that were loaded at any time, by name and version. */
  readonly versions: readonly PageVersionJson[];
}

export interface PageVersionJson {
  readonly name: string;
  readonly version: string;
  readonly state: RepositoryState;
  /** Why it is not ready, for those who may read the repository's index. */
  readonly reason?: string;
  /** Of ready versions. */
  readonly declared?: DeclaredJson;
}

export interface DeclaredJson {
  readonly description?: string;
  readonly inputs: readonly DeclaredTensorJson[];
  readonly outputs: readonly DeclaredTensorJson[];
  /** 0: tensors have no batch axis. */
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  /** Whether its requests belong to sequences. */
  readonly sequences: boolean;
  readonly instanceCount: number;
  readonly route?: string;
  readonly openai?: OpenAiEndpoint;
}

export interface DeclaredTensorJson {
  readonly name: string;
  readonly dtype: Dtype;
  readonly datatype: Datatype;
  /** Without the batch axis; -1 stands for any size. */
  readonly shape: readonly number[];
  readonly optional: boolean;
  readonly labels?: readonly string[];
  readonly contentEncoding?: 'base64';
  readonly description?: string;
  readonly boxes?: BoxForm;
}

/** `GET /page/figures`. Counts are since the load of the version. */
export interface PageFiguresJson {
  /** Milliseconds of a clock that only goes forward. */
  readonly now: number;
  readonly versions: readonly FiguresJson[];
  /** Undefined without a response cache. */
  readonly cache?: { readonly bytes: number; readonly capacity: number; readonly entries: number };
}

export interface FiguresJson {
  readonly name: string;
  readonly version: string;
  readonly success: number;
  readonly fail: number;
  /** Requests turned away before they were accepted. */
  readonly refused: number;
  /** Requests that wait in the queue. */
  readonly pending: number;
  /** Requests accepted and not yet answered. */
  readonly inflight: number;
  /** Instances that take batches. */
  readonly instances: number;
  /** Milliseconds that executions took, of all instances together. */
  readonly busyMs: number;
  readonly executions: number;
  /** Rows executed. */
  readonly rows: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  /** Durations of successful requests, and of waits in the queue. */
  readonly latency: BucketsJson;
  readonly wait: BucketsJson;
}

export interface BucketsJson {
  /** Upper bounds in seconds. */
  readonly bounds: readonly number[];
  /** Observations in each bucket alone; the last one is for values above all bounds. */
  readonly counts: readonly number[];
}

/** `GET /page/log?after=<number>`. */
export interface PageLogJson {
  /** The latest ones, oldest first. */
  readonly entries: readonly PageLogEntryJson[];
}

export interface PageLogEntryJson {
  /** Counted from 1. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: LogLevel;
  readonly message: string;
}
