// Writes docs/reference/commands.md from the command-line program.
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../../apps/gateway/src/main.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const intro = `
Every command of \`npx postern\`, with its arguments and options, as \`--help\` prints them. [The guides](../guides/README.md) show how to use them.

- Run them in the folder of the project or below it, where \`npx\` finds the program.
- \`dev\` and \`start\` run a gateway, and \`config print\` reads its configuration. The other commands ask the gateway that runs, by the operator's API.
- \`<words>\` in angle brackets are required, \`[words]\` in square brackets are not. Commands that show something take \`--json\`.
- A command that fails prints why and ends with exit code 1.

In the repository, \`npm start\` is \`postern dev\`, \`npm test\` runs all tests, and \`npm run bench\` measures.
`

/** Writes docs/reference/commands.md. */
export function describeCommands(): string {
  const program = createProgram()
  return formatPage('Commands reference', [
    intro,
    '## Options of every command',
    formatOptions(program.options),
    ...listLeaves(program).map(formatCommand),
  ])
}

/** Returns the commands that do something themselves, without those that only contain others. */
function listLeaves(command: Command): readonly Command[] {
  return command.commands.flatMap(inner => (inner.commands.length > 0 ? listLeaves(inner) : [inner]))
}

function formatCommand(command: Command): string {
  const { registeredArguments: commandArguments, options } = command
  const sections = [
    `## \`${[nameOf(command), ...commandArguments.map(formatArgument)].join(' ')}\``,
    asSentence(command.description()),
    ...(isDefault(command) ? [`\`${nameOf(command.parent ?? command)}\` alone does the same.`] : []),
    ...commandArguments.flatMap(describeArgument),
    ...(options.length > 0 ? [formatOptions(options)] : []),
  ]
  return sections.join('\n\n')
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}

/** Returns true for a default command, which Commander stores in a private member. */
function isDefault(command: Command): boolean {
  return (command.parent as { readonly _defaultCommandName?: string } | null)?._defaultCommandName === command.name()
}

function formatArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}

/** Describes an argument, unless its name is enough. */
function describeArgument(argument: Argument): readonly string[] {
  const description = describeChoice(argument.description, argument.argChoices)
  return description === '' ? [] : [`${formatInlineCode(formatArgument(argument))}: ${description}.`]
}

function formatOptions(options: readonly Option[]): string {
  const rows = options.map(option => [
    formatInlineCode(option.flags),
    option.defaultValue === undefined
      ? option.mandatory
        ? 'required'
        : ''
      : formatInlineCode(String(option.defaultValue)),
    describeChoice(option.description, option.argChoices),
  ])
  return formatMarkdownTable(['option', 'default', 'what'], rows)
}

function describeChoice(description: string, choices: readonly string[] | undefined): string {
  const choicesNote = choices ? `one of ${choices.map(formatInlineCode).join(', ')}` : ''
  return [showPlaceholders(description), choicesNote].filter(Boolean).join('; ')
}

/** Formats placeholders as code, because Markdown treats `<name>` as a tag and drops it. */
function showPlaceholders(description: string): string {
  return description.replace(/(?<=^|\s)[^\s`]*<\w+>[^\s`]*/g, formatInlineCode)
}

function asSentence(text: string): string {
  const plain = text.replace(/ \(default\)$/, '')
  return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`
}
