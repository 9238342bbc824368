// Scripts that have shells complete the command. They hold all that there is, so that nothing has to be started to complete a word.

import type { CommandEntry, FlagEntry, ValueKind } from './command-tree.js';

type Script = (commands: readonly CommandEntry[], program: string) => string;

export const COMPLETION_SCRIPTS = { bash, zsh, fish } as const satisfies Readonly<Record<string, Script>>;

export type Shell = keyof typeof COMPLETION_SCRIPTS;

function bash(commands: readonly CommandEntry[], program: string): string {
  const values = commands.flatMap((command) =>
    command.flags
      .filter(({ value, isOptional }) => value !== undefined && !isOptional)
      .map(
        (flag) =>
          `    ${spellings(flag)
            .map((name) => `'${command.name} ${name}'`)
            .join('|')}) ${bashValue(flag.value!)} return ;;`,
      ),
  );
  const branches = commands.map(
    ({ name, flags, argument }) =>
      `    ${name}) if [[ $cur == -* ]]; then __words '${flags.flatMap(spellings).join(' ')}'; else ${bashValue(argument)} fi ;;`,
  );
  return `# bash completion of ${program}: source <(${program} completion bash)
_${program}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" command='' i
  COMPREPLY=()
  __words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
  __files() { compopt -o default; }
  # bash takes --flag=value apart.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != -* ]]; then command="\${COMP_WORDS[i]}"; break; fi
  done
  case "$command $prev" in
${values.join('\n')}
  esac
  case "$command" in
    '') __words '${commands.map(({ name }) => name).join(' ')} --help --version' ;;
${branches.join('\n')}
  esac
}
complete -F _${program} ${program}
`;
}

function bashValue(value: ValueKind): string {
  if (value === 'file') return '__files;';
  return value === 'unknown' ? ':;' : `__words '${value.join(' ')}';`;
}

function zsh(commands: readonly CommandEntry[], program: string): string {
  const described = commands.map(
    ({ name, description }) => `    ${quoted(`${name}:${description.replaceAll(':', '\\:')}`)}`,
  );
  const branches = commands.map(({ name, flags, argument }) => {
    const specs = [...flags.flatMap(zshFlags), quoted(`*:argument:${zshValue(argument)}`)];
    return `      ${name})\n        _arguments -s -S \\\n${specs.map((spec) => `          ${spec}`).join(' \\\n')}\n        ;;`;
  });
  return `#compdef ${program}
# zsh completion of ${program}: source <(${program} completion zsh)
_${program}() {
  local context state line
  local -a commands
  commands=(
${described.join('\n')}
  )
  _arguments -C '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $line[1] in
${branches.join('\n')}
      esac
      ;;
  esac
}
compdef _${program} ${program}
`;
}

function zshFlags(flag: FlagEntry): readonly string[] {
  const text = flag.description.replace(/[[\]]/g, (bracket) => `\\${bracket}`).replaceAll(':', '\\:');
  return spellings(flag).map((name) => {
    if (flag.value === undefined) return quoted(`*${name}[${text}]`);
    const colons = flag.isOptional ? '::' : ':';
    const join = name.startsWith('--') ? (flag.isOptional ? '=-' : '=') : '+';
    return quoted(`*${name}${join}[${text}]${colons}value:${zshValue(flag.value)}`);
  });
}

function zshValue(value: ValueKind): string {
  if (value === 'file') return '_files';
  return value === 'unknown' ? ' ' : `(${value.join(' ')})`;
}

function fish(commands: readonly CommandEntry[], program: string): string {
  const names = commands.map(({ name }) => name).join(' ');
  const first = `not __fish_seen_subcommand_from ${names}`;
  const lines = commands.flatMap(({ name, description, flags, argument }) => {
    const seen = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c ${program} -f -n ${quoted(first)} -a ${name} -d ${fishQuoted(description)}`,
      `complete -c ${program} ${seen} ${fishArgument(argument)}`,
      ...flags.map((flag) => `complete -c ${program} ${seen} ${fishFlag(flag)}`),
    ];
  });
  return `# fish completion of ${program}: ${program} completion fish | source\n${lines.join('\n')}\n`;
}

function fishArgument(value: ValueKind): string {
  if (value === 'file') return '-F';
  return value === 'unknown' ? '-f' : `-f -a ${quoted(value.join(' '))}`;
}

function fishFlag({ short, long, description, value, isOptional }: FlagEntry): string {
  const names = [
    ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
    ...(long === undefined ? [] : [`-l ${long.slice(2)}`]),
  ];
  return [...names, ...fishValue(value, isOptional), `-d ${fishQuoted(description)}`].join(' ');
}

function fishValue(value: ValueKind | undefined, isOptional: boolean): readonly string[] {
  if (value === undefined) return [];
  const words = typeof value === 'string' ? [] : [`-a ${quoted(value.join(' '))}`];
  if (isOptional) return words;
  return value === 'file' ? ['-r', '-F'] : ['-x', ...words];
}

function spellings({ short, long }: FlagEntry): readonly string[] {
  return [short, long].filter((name) => name !== undefined);
}

/** For bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
