// Declares commands of the command line as data. The code of a command loads when it runs.
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, ScreenOutput } from './context.ts'

/** The arguments and options of one call, with the names of the API: `--dry-run` is `dry_run`. */
export type CommandInput = Readonly<Record<string, unknown>>

/** Calls the operator’s API for a command, and prints the answer. */
type CommandView = (output: ScreenOutput, input: CommandInput) => Promise<void>

interface DescribedOption {
  readonly description: string
  readonly choices?: readonly string[]
}

interface CommandDeclaration {
  readonly description: string
  /** Arguments as the help shows them, such as `<agent> [id]`. */
  readonly arguments?: string
  /** Options by their flags, such as `--agent <name>`. */
  readonly options?: Readonly<Record<string, string | DescribedOption>>
  /** True if the command takes `--json`. */
  readonly hasJson?: true
  /** True if the command also runs without its own name, as `postern bans` does for `postern bans list`. */
  readonly isDefault?: true
  /** Text of the help below the options. */
  readonly note?: string
}

type OutputContext = Pick<CommandContext, 'output'>

/** Adds the declared commands to the command line. */
export type AddCommands = (program: Command, context: OutputContext) => void

interface SingleCommand extends CommandDeclaration {
  readonly name: string
  /** Loads the function that prints the answer. */
  load(): Promise<CommandView>
}

type ViewTable = Readonly<Record<string, CommandView>>

/** A command whose own name only groups others. */
interface CommandGroup<Views extends ViewTable> {
  readonly name: string
  readonly description: string
  /** Loads the functions that print the answers, by the names of the commands. */
  load(): Promise<Views>
  readonly commands: { readonly [Name in keyof Views & string]: CommandDeclaration }
}

/** Declares one command, such as `postern prune`. */
export function declareCommand(declaration: SingleCommand): AddCommands {
  return (program, context) => addCommand(program, context, declaration)
}

/** Declares a group of commands, such as `postern bans list` and `postern bans lift`. */
export function declareGroup<Views extends ViewTable>(group: CommandGroup<Views>): AddCommands {
  return (program, context) => {
    const parent = program.command(group.name).description(group.description)
    for (const [name, declaration] of Object.entries<CommandDeclaration>(group.commands)) {
      const load = async () => (await group.load())[name] as CommandView
      addCommand(parent, context, { ...declaration, name, load })
    }
  }
}

function addCommand(parent: Command, { output }: OutputContext, { name, load, ...declaration }: SingleCommand): void {
  const usage = [name, declaration.arguments ?? ''].join(' ').trim()
  const command = parent
    .command(usage, { isDefault: declaration.isDefault === true })
    .description(declaration.description)
  for (const [flags, option] of Object.entries(declaration.options ?? {}))
    command.addOption(createOption(flags, option))
  if (declaration.hasJson) command.option('--json', 'print JSON, for programs')
  if (declaration.note !== undefined) command.addHelpText('after', `\n${declaration.note}`)
  command.action(async (...values: unknown[]) => {
    const { json, ...options } = command.opts<Record<string, unknown>>()
    const args = command.registeredArguments.map((argument, index) => [argument.name(), values[index]] as const)
    const input = [...args, ...Object.entries(options).map(([key, value]) => [toSnakeCase(key), value] as const)]
    const view = await load()
    await view(output({ json: json === true }), Object.fromEntries(input.filter(([, value]) => value !== undefined)))
  })
}

function createOption(flags: string, option: string | DescribedOption): Option {
  if (typeof option === 'string') return new Option(flags, option)
  const { description, choices } = option
  return choices ? new Option(flags, description).choices([...choices]) : new Option(flags, description)
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
