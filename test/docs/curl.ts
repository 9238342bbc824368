// What `curl` prints, for commands as the documents have them: a URL and some of the options -s, -d, -H and -w
// '%{http_code}'. So the tests need no curl, and anything else in a command fails them.

/** The words of a shell command; single quotes alone are understood. */
function wordsOf(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').match(/(?:'[^']*'|[^\s'])+/g) ?? [];
  return words.map((word) => word.replaceAll("'", ''));
}

/** Runs a command, its address changed by `at`. Resolves with what it prints. */
export async function curl(command: string, at: (url: string) => string): Promise<string> {
  const [program, ...words] = wordsOf(command);
  if (program !== 'curl') throw new Error(`expected a command of curl, got ${command}`);
  const headers = new Headers();
  let url: string | undefined;
  let body: string | undefined;
  let after = '';
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-s') continue;
    if (word === '-d') body = words.shift()!;
    else if (word === '-w') after = words.shift()!;
    else if (word === '-H') headers.append(...(words.shift()!.split(/:\s*/, 2) as [string, string]));
    else if (url === undefined && /^(https?:\/\/)?localhost/.test(word)) url = word.replace(/^(?!http)/, 'http://');
    else throw new Error(`'${word}' is not understood in the documents' commands: ${command}`);
  }
  const response = await fetch(at(url!), { headers, ...(body !== undefined && { method: 'POST', body }) });
  return (await response.text()) + after.replace('%{http_code}', String(response.status));
}
