// A client in a thread of its own: it asks the server one request at a time over one connection, and each request has numbers
// of its own, which the answer must give back.
import http from 'node:http';
import http2 from 'node:http2';
import { parentPort, workerData } from 'node:worker_threads';

const { wire, port } = workerData;
const FLOATS = 16;
/** @type {(message: unknown) => void} */
const tell = (message) => parentPort?.postMessage(message);

/** @param {number} number @param {Uint8Array} bytes fewer than 128 */
const field = (number, bytes) => Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);

/** @param {number} first */
const floats = (first) => Float32Array.from({ length: FLOATS }, (_, index) => first + index);

/** @param {Float32Array} data */
const bytesOf = (data) => Buffer.from(data.buffer);

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** @param {Buffer} body @param {http.OutgoingHttpHeaders} headers @returns {Promise<Buffer>} */
function post(body, headers) {
  return new Promise((resolve, reject) => {
    const path = '/v2/models/m/infer';
    const request = http.request({ host: '127.0.0.1', port, agent, method: 'POST', path, headers }, (response) => {
      /** @type {Buffer[]} */
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks)));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** @param {boolean} isBinary @param {object} input */
function inferenceJson(isBinary, input) {
  const outputs = [{ name: 'OUTPUT0', parameters: { binary_data: isBinary } }];
  return Buffer.from(
    JSON.stringify({ inputs: [{ name: 'INPUT0', shape: [1, FLOATS], datatype: 'FP32', ...input }], outputs }),
  );
}

const BINARY_JSON = inferenceJson(true, { parameters: { binary_data_size: 4 * FLOATS } });

/** @type {Record<string, (data: Float32Array) => Promise<boolean>>} whether the answer holds the request's numbers */
const WIRES = {
  async http(data) {
    const body = Buffer.concat([BINARY_JSON, bytesOf(data)]);
    const headers = { 'content-length': body.length, 'inference-header-content-length': BINARY_JSON.length };
    const answer = await post(body, headers);
    return answer.subarray(-4 * FLOATS).equals(bytesOf(data));
  },
  async json(data) {
    const body = inferenceJson(false, { data: [...data] });
    const answer = JSON.parse((await post(body, { 'content-length': body.length })).toString());
    return answer.outputs[0].data.join() === data.join();
  },
  async grpc(data) {
    const tensor = [field(1, Buffer.from('INPUT0')), field(2, Buffer.from('FP32')), field(3, Buffer.from([1, FLOATS]))];
    const message = Buffer.concat([
      field(1, Buffer.from('m')),
      field(5, Buffer.concat(tensor)),
      field(7, bytesOf(data)),
    ]);
    const answer = await callModelInfer(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
    return answer.subarray(-4 * FLOATS).equals(bytesOf(data));
  },
};

/** @type {http2.ClientHttp2Session | undefined} */
let session;

/** @param {Buffer} frame @returns {Promise<Buffer>} */
function callModelInfer(frame) {
  session ??= http2.connect(`http://127.0.0.1:${port}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/inference.GRPCInferenceService/ModelInfer',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  return new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    stream.on('error', reject);
    stream.end(frame);
  });
}

let asked = 0;
parentPort?.on('message', async (requests) => {
  for (let count = 0; count < requests; count += 1) {
    asked += 1;
    const isRight = await WIRES[wire]?.(floats(asked));
    if (isRight !== true) throw new Error(`${wire}: request ${asked} was not answered with its own numbers`);
  }
  tell('answered');
});
tell('ready');
