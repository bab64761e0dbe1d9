// Defines what a command gets: options, configuration, API and output.
import type { ChannelDescriptor } from '@postern/pipeline'
import type { ApiAccess } from '../client/client.ts'
import type { CheckGroup, DoctorReport } from '../doctor/report.ts'
import type { Screen } from '../terminal/text.ts'

export interface CommonOptions {
  readonly config?: string
  readonly url?: string
  readonly token?: string
  readonly json?: boolean
}

export interface DataLocation {
  /** `sqlite`, or the URL of a PostgreSQL database. */
  readonly store: string
  /** The path of the data folder. */
  readonly directory: string
}

/** The origin and the agents of a configuration file. The agents are one text, separated by commas. */
interface FileSetup {
  readonly origin?: string
  readonly agents?: string
}

/** The channels of the program, open or not. */
export interface ProgramChannels {
  readonly list: readonly { readonly descriptor: ChannelDescriptor }[]
  /** Returns the name of the channel that has this name or alias. Returns an unknown name unchanged. */
  resolveAlias(name: string): string
}

/** The operator’s API, the data and the output, for every command. */
export interface CommandContext extends ApiAccess {
  /** The version of the program. */
  readonly version: string
  /** Loads the channels of the program, which only a few commands need. */
  loadChannels(): Promise<ProgramChannels>
  /** Finds the store, even if no gateway runs. */
  findData(): Promise<DataLocation>
  /** Reads the origin and agents of the configuration file, to compare them with the running gateway. Empty if no file is read. */
  describeFile(): Promise<FileSetup>
  /** Checks the installation after `openClient` has failed with `error`. */
  examineUnopened(error: unknown, groups: readonly CheckGroup[]): Promise<DoctorReport>
  output(options: CommonOptions): ScreenOutput
  print(text: string): void
}

/** The output of a command, for people or as JSON. */
export interface Output {
  readonly json: boolean
  print(text: string): void
}

/** The output of a command that asks the operator’s API. */
export interface ApiOutput extends Output, ApiAccess {}

export interface ScreenOutput extends ApiOutput, Screen {
  /** Prints text with colours. Foreign text in it must be safe already (`toTerminalLine`). */
  printStyled(text: string): void
}
