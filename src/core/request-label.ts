// How Triton's messages begin when they are about one request.

/** `[request id: 7] `, ready to be followed by a message. */
export function requestLabel(id: string): string {
  return `[request id: ${id || '<id_unknown>'}] `;
}
