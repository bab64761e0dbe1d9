import type { ConfigFile } from '../config/read-config.ts'
import type { ClientOpener, ConfiguredOpener } from './client.ts'

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
export interface CommandContext {
  /** The configuration file's path, where one is named. */
  configPath(): string | undefined
  file(): Promise<ConfigFile>
  /** Where the store is, whether a gateway runs or not. */
  findData(): Promise<DataLocation>
  readonly openClient: ClientOpener
  readonly openConfigured: ConfiguredOpener
  output(options: CommonOptions): Output
  print(text: string): void
}

/** Where a command prints, for people or as JSON. */
export interface Output {
  readonly json: boolean
  print(text: string): void
}
