import type { ConfigFile } from '../config/read-config.ts'
import type { CheckGroup, DoctorReport } from '../doctor/report.ts'
import type { Screen } from '../terminal/text.ts'
import type { ApiAccess } from './client.ts'

export interface CommonOptions {
  readonly config?: string
  readonly url?: string
  readonly token?: string
  readonly json?: boolean
}

export interface DataLocation {
  /** `sqlite`, or the URL of a PostgreSQL database. */
  readonly store: string
  /** The data folder. */
  readonly directory: string
}

/** What every command is given. */
export interface CommandContext extends ApiAccess {
  /** The configuration file's path, where one is named. */
  configPath(): string | undefined
  file(): Promise<ConfigFile>
  /** Where the store is, whether a gateway runs or not. */
  findData(): Promise<DataLocation>
  /** The checks of the installation where `openClient` has failed by `fault`. */
  examineUnopened(fault: unknown, groups: readonly CheckGroup[]): Promise<DoctorReport>
  output(options: CommonOptions): ScreenOutput
  print(text: string): void
}

/** Where a command prints, for people or as JSON. */
export interface Output {
  readonly json: boolean
  print(text: string): void
}

/** Where a command prints what the operator's API says. */
export interface ApiOutput extends Output, ApiAccess {}

export interface ScreenOutput extends ApiOutput, Screen {
  /** Text with colours in it; what others wrote in it was made safe (`toTerminalLine`). */
  printStyled(text: string): void
}
