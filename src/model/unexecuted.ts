// Lists the texts that prove that a request was not executed. Servers use them only for refusals before an execution,
// so clients may send such a request again. The engine keeps callables from using them
// (`core/scheduler/request-outcomes.ts`).

/** Triton's scheduler puts this in front of its refusals. */
const LABEL = String.raw`(\[request id: [^\]]*\] )?`;

const TEXTS = [
  // Triton's texts: the scheduler, the repository, and the ports.
  `${LABEL}Exceeds maximum queue size`,
  `${LABEL}Server is stopping, scheduler for model has stopped accepting new inference requests`,
  String.raw`Request for unknown model: '[^']*' (version \d+ is not at ready state|has no available versions)`,
  'Server not ready',
  String.raw`GRPC server is shutting down and has stopped accepting new requests\.`,
  // Our texts: no instance takes the request.
  "model '[^']*' is not ready: (all instances (have ended|ended while the request waited|are busy with batches that took too long)|the thread that it runs in is blocked)",
  // Our texts: no room, before the request is decoded.
  'the requests of all clients together hold too many bytes: try again later',
  'there is no room for what the (request|message) inflates to: try again later',
  String.raw`there is no memory for a (request|message) of \d+ bytes`,
  'there are too many connections: try again later',
];

const UNEXECUTED = new RegExp(`^(?:${TEXTS.join('|')})$`);

/** Whether an error of this text means that its request was not executed. */
export function provesUnexecuted(message: string): boolean {
  return UNEXECUTED.test(message);
}
