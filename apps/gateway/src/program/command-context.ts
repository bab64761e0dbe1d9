import type { Output } from '../cli/commands.ts'
import type { ConfigFile } from '../config/read-config.ts'

export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** What every command is given. */
export interface CommandContext {
  /** The configuration file's path, where one is named. */
  configPath(): string | undefined
  file(): Promise<ConfigFile>
  output(options: CommonOptions): Output
  print(text: string): void
}
