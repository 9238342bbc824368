// The onnx suite's server: one network in one instance thread, HTTP and gRPC.
// Usage: onnx-server.js <network> <maxBatchSize>

import { Triton } from 'tstriton';
import { onnx } from 'tstriton/onnx';

import { writeModelFile } from '../onnx-file.js';
import { networkNamed } from '../onnx-networks.js';
import { serveMeasured } from './measured-server.js';

const network = networkNamed(process.argv[2]);
const maxBatchSize = Number(process.argv[3]);

const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0 });
triton.bind(onnx(writeModelFile(network), { threads: 1, config: { maxBatchSize } }));
await serveMeasured(triton);
