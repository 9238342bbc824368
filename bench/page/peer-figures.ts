// The figures of docs/benchmarks.md that other pages show. There each table follows a mark, `<!-- figures: peers -->` or
// `<!-- figures: all peers -->`, and is made anew whenever the page is.
import { format } from 'prettier';

const COLUMNS = [
  ['gRPC', 'gRPC, 16 connections'],
  ['HTTP binary', 'HTTP binary, 16 connections'],
  ['HTTP JSON', 'HTTP JSON, 16 connections'],
] as const;

/** How the suite's names begin, how readers know the servers, and whether the short table has them. */
const SERVERS = [
  { begin: 'ours, serverThread: true', name: 'TSTriton', isShort: true },
  { begin: 'ours, serverThread: false', name: 'TSTriton, `serverThread: false`', isShort: false },
  { begin: "Triton's core, cache hits", name: "Triton's C++ core, answers from its cache", isShort: false },
  { begin: 'Triton, Python backend', name: 'Triton, Python backend', isShort: true },
  { begin: 'PyTriton', name: 'PyTriton', isShort: true },
  { begin: 'MLServer', name: 'MLServer', isShort: true },
  { begin: 'KServe', name: 'KServe Python SDK', isShort: true },
  { begin: 'LitServe', name: 'LitServe', isShort: false },
] as const;

const MARKED = /(<!-- figures: (?<which>all )?peers -->\n)(?:\n(?:\|.*\n)+)?/g;

/** The same text, with the tables behind its marks from `benchmarks`, the text of docs/benchmarks.md. */
export async function withPeerFigures(markdown: string, benchmarks: string): Promise<string> {
  const suite = /^## peers\n(?<text>[\s\S]*?)(?=^## |(?![\s\S]))/m.exec(benchmarks)?.groups?.['text'];
  if (suite === undefined) throw new Error("docs/benchmarks.md has no suite 'peers'");
  const tables = COLUMNS.map(([, heading]) => ratesIn(suite, heading));
  const rows = SERVERS.map(({ begin, name, isShort }) => {
    const full = tables.flatMap((table) => [...table.keys()]).find((key) => key.startsWith(begin));
    const version = /\d+\.\d+\.\d+(?=\)?$)/.exec(full ?? '')?.[0];
    const rates = tables.map((table) => table.get(full ?? '')?.toLocaleString('en-US') ?? '–');
    const label = version === undefined || full!.includes('(of') ? name : `${name} ${version}`;
    return { isShort, line: `| ${[label, ...rates].join(' | ')} |` };
  });
  const head = [`| server | ${COLUMNS.map(([name]) => name).join(' | ')} |`, '| --- | ---: | ---: | ---: |'];
  const table = (isAll: boolean) =>
    format([...head, ...rows.filter(({ isShort }) => isAll || isShort).map(({ line }) => line), ''].join('\n'), {
      parser: 'markdown',
    });
  const [short, all] = await Promise.all([table(false), table(true)]);
  return markdown.replaceAll(
    MARKED,
    (_, mark: string, which: string | undefined) => `${mark}\n${which === undefined ? short : all}`,
  );
}

/** Requests a second by server. */
function ratesIn(suite: string, heading: string): ReadonlyMap<string, number> {
  const start = suite.indexOf(`${heading}\n`);
  if (start < 0) throw new Error(`the suite 'peers' has no table '${heading}'`);
  const table = suite.slice(start, suite.indexOf('\n\n', start) < 0 ? undefined : suite.indexOf('\n\n', start));
  const lines = table
    .replace(/\n```[\s\S]*/, '')
    .split('\n')
    .slice(3);
  return new Map(
    lines.flatMap((line) => {
      const [, name, rate] = /^(.+?) {2,}(\d+) /.exec(line) ?? [];
      return name === undefined ? [] : [[name, Number(rate)] as const];
    }),
  );
}
