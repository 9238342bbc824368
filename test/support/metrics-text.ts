// The metrics of a running server, as a scraper reads them.

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

export class MetricsText {
  readonly text: string;
  readonly samples: readonly Sample[];
  /** By family. */
  readonly types: ReadonlyMap<string, string>;

  /** Throws when a line is neither a comment nor a sample, or a sample has no family above it. */
  constructor(text: string) {
    this.text = text;
    const samples: Sample[] = [];
    const types = new Map<string, string>();
    let family = '';
    for (const line of text.split('\n')) {
      const type = /^# TYPE (\S+) (\S+)$/.exec(line);
      if (type !== null) types.set((family = type[1]!), type[2]!);
      if (line === '' || line.startsWith('# ')) continue;
      const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined || !name.startsWith(family)) throw new Error(`no sample of ${family}: ${line}`);
      const pairs = Array.from(
        labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g),
        ([, label, text]) => [label!, text!] as const,
      );
      samples.push({ name, labels: Object.fromEntries(pairs), value: Number(value!.replace('Inf', 'Infinity')) });
    }
    this.samples = samples;
    this.types = types;
  }

  static async of(url: string): Promise<MetricsText> {
    return new MetricsText(await (await fetch(url, { headers: { connection: 'close' } })).text());
  }

  /** The only sample with this name and at least these labels; undefined when there is none. */
  value(name: string, labels: Labels = {}): number | undefined {
    const found = this.samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    if (found.length > 1) throw new Error(`${found.length} samples of ${name} with ${JSON.stringify(labels)}`);
    return found[0]?.value;
  }
}
