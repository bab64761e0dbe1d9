// Declares commands of the command line as data. The code of a command loads when it runs.
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, ScreenOutput } from './context.ts'

/** The arguments and options of one call, with the names of the API: `--dry-run` is `dry_run`. */
export type CommandInput = Readonly<Record<string, unknown>>

/** Calls the operator’s API for a command, and prints the answer. A view names the members that its declaration yields. */
type CommandView = (output: ScreenOutput, input: never, context: CommandContext) => Promise<void>

interface DescribedOption {
  readonly description: string
  readonly choices?: readonly string[]
  readonly defaultValue?: string | number
  /** True if commander refuses the command without this option. */
  readonly isMandatory?: boolean
  /** Parses the text of one use. `earlierValue` comes from earlier uses of the option. @throws InvalidArgumentError */
  readonly parse?: (text: string, earlierValue: never) => unknown
}

interface DescribedArgument {
  readonly usage: string
  readonly description: string
}

interface CommandDeclaration {
  readonly description: string
  /** Arguments as the help shows them, such as `<agent> [id]`, or one argument with its description. */
  readonly arguments?: string | DescribedArgument
  /** Options by their flags, such as `--agent <name>`. */
  readonly options?: Readonly<Record<string, string | DescribedOption>>
  /** True if the command takes `--json`. */
  readonly hasJson?: true
  /** True if the command also runs without its own name, as `postern bans` does for `postern bans list`. */
  readonly isDefault?: true
  /** Text of the help below the options. */
  readonly note?: string
}

/** Adds the declared commands to the command line. */
export type AddCommands = (program: Command, context: CommandContext) => void

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

/** Joins the commands of one topic, in the order of the help. */
export function joinCommands(...declarations: readonly AddCommands[]): AddCommands {
  return (program, context) => {
    for (const addCommands of declarations) addCommands(program, context)
  }
}

function addCommand(parent: Command, context: CommandContext, { name, load, ...declaration }: SingleCommand): void {
  const { arguments: usage = '', options: declaredOptions = {} } = declaration
  const command = parent
    .command(typeof usage === 'string' ? `${name} ${usage}`.trim() : name, {
      isDefault: declaration.isDefault === true,
    })
    .description(declaration.description)
  if (typeof usage !== 'string') command.argument(usage.usage, usage.description)
  for (const [flags, option] of Object.entries(declaredOptions)) command.addOption(createOption(flags, option))
  if (declaration.hasJson) command.option('--json', 'print JSON, for programs')
  if (declaration.note !== undefined) command.addHelpText('after', `\n${declaration.note}`)
  command.action(async (...values: unknown[]) => {
    const { json, ...options } = command.opts<Record<string, unknown>>()
    const args = command.registeredArguments.map((argument, index) => [argument.name(), values[index]] as const)
    const members = [...args, ...Object.entries(options).map(([key, value]) => [toSnakeCase(key), value] as const)]
    const input = Object.fromEntries(members.filter(([, value]) => value !== undefined))
    const view = await load()
    await view(context.output({ json: json === true }), input as never, context)
  })
}

function createOption(flags: string, option: string | DescribedOption): Option {
  if (typeof option === 'string') return new Option(flags, option)
  const { description, choices, defaultValue, isMandatory = false, parse } = option
  const createdOption = new Option(flags, description).default(defaultValue).makeOptionMandatory(isMandatory)
  if (choices) createdOption.choices([...choices])
  if (parse) createdOption.argParser(parse as (text: string, earlierValue: unknown) => unknown)
  return createdOption
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
