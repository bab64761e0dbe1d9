// Describes the commands for docs/reference/commands.md from the command-line program.
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../../apps/gateway/src/main.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const introduction = `
Every command of \`npx postern\`, with its arguments and options, as \`--help\` prints them. [The guides](../guides/README.md) show how to use them.

- Run them in the folder of the project or below it, where \`npx\` finds the program.
- \`dev\` and \`start\` run a gateway, and \`config print\` reads its configuration. The other commands ask the gateway that runs, by the operator's API.
- \`<words>\` in angle brackets are required, \`[words]\` in square brackets are not. Commands that show something take \`--json\`.
- A command that fails prints why and ends with exit code 1.

In the repository, \`npm start\` is \`postern dev\`, \`npm test\` runs all tests, and \`npm run bench\` measures.
`

/** Returns the text of docs/reference/commands.md. */
export function describeCommands(): string {
  const program = createProgram()
  return formatPage('Commands reference', [
    introduction,
    '## Options of every command',
    formatOptions(program.options),
    ...listRunnableCommands(program).map(formatCommand),
  ])
}

/** Returns the commands that do something themselves, without those that only contain others. */
function listRunnableCommands(command: Command): readonly Command[] {
  return command.commands.flatMap(subcommand =>
    subcommand.commands.length > 0 ? listRunnableCommands(subcommand) : [subcommand],
  )
}

function formatCommand(command: Command): string {
  const { registeredArguments: commandArguments, options } = command
  const sections = [
    `## \`${[formatCommandPath(command), ...commandArguments.map(formatArgument)].join(' ')}\``,
    toSentence(command.description()),
    ...(isDefault(command) ? [`\`${formatCommandPath(command.parent ?? command)}\` alone does the same.`] : []),
    ...commandArguments.flatMap(describeArgument),
    ...(options.length > 0 ? [formatOptions(options)] : []),
  ]
  return sections.join('\n\n')
}

function formatCommandPath(command: Command): string {
  return command.parent ? `${formatCommandPath(command.parent)} ${command.name()}` : command.name()
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
  const description = describeValue(argument.description, argument.argChoices)
  return description === '' ? [] : [`${formatInlineCode(formatArgument(argument))}: ${description}.`]
}

function formatOptions(options: readonly Option[]): string {
  const rows = options.map(option => [
    formatInlineCode(option.flags),
    formatDefault(option),
    describeValue(option.description, option.argChoices),
  ])
  return formatMarkdownTable(['option', 'default', 'meaning'], rows)
}

function formatDefault({ defaultValue, mandatory }: Option): string {
  if (defaultValue !== undefined) return formatInlineCode(String(defaultValue))
  return mandatory ? 'required' : ''
}

function describeValue(description: string, choices: readonly string[] | undefined): string {
  const choicesNote = choices ? `one of ${choices.map(formatInlineCode).join(', ')}` : ''
  return [showPlaceholders(description), choicesNote].filter(Boolean).join('; ')
}

/** Formats placeholders as code, because Markdown treats `<name>` as a tag and drops it. */
function showPlaceholders(description: string): string {
  return description.replace(/(?<=^|\s)[^\s`]*<\w+>[^\s`]*/g, formatInlineCode)
}

function toSentence(text: string): string {
  const plain = text.replace(/ \(default\)$/, '')
  return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`
}
