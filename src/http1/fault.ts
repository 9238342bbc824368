// What is wrong with what a client sends. After the answer that says so the connection closes, because nobody knows where the
// next request would begin.

export interface Fault {
  readonly status: number;
  readonly message: string;
}

export function malformed(what: string): Fault {
  return { status: 400, message: `malformed HTTP request: ${what}` };
}

export const TOO_LARGE_HEAD: Fault = { status: 431, message: 'Request Header Fields Too Large' };
export const TOO_LARGE_EXTENSIONS: Fault = { status: 413, message: 'Payload Too Large' };
export const TOO_SLOW: Fault = { status: 408, message: 'Request Timeout' };

export function faultText({ message }: Fault): string {
  return JSON.stringify({ error: message });
}
