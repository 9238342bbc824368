// A client that listens to a stream of answers for as long as it likes.

/** The values of `y` that a decoupled model answers with, whose input is `x`; disposing hangs up. */
export async function openStream(http: string, model: string) {
  const controller = new AbortController();
  const response = await fetch(`${http}/v2/models/${model}/generate_stream`, {
    method: 'POST',
    body: '{"x":1}',
    signal: controller.signal,
  });
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    /** Undefined at the end. */
    async next(): Promise<unknown> {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end >= 0) {
          const { y, error } = JSON.parse(text.slice('data: '.length, end)) as { y?: unknown; error?: unknown };
          text = text.slice(end + 2);
          return error ?? y;
        }
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += decoder.decode(value, { stream: true });
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      controller.abort();
      await reader.cancel().catch(() => undefined);
    },
  };
}
