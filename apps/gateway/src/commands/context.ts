import type { ConfigFile } from '../config/read-config.ts'
import type { ClientOpener } from './client.ts'

export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** What every command is given. */
export interface CommandContext {
  /** The configuration file's path, where one is named. */
  configPath(): string | undefined
  file(): Promise<ConfigFile>
  readonly openClient: ClientOpener
  output(options: CommonOptions): Output
  print(text: string): void
}

/** Where a command prints, for people or as JSON. */
export interface Output {
  readonly json: boolean
  print(text: string): void
}
