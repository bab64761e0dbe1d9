// Defines the context of the commands that run a gateway.
import type { CommandContext } from '@postern/operator/commands'
import type { ConfigFile } from '../config/read-config.ts'

/** The context of all commands, with the configuration file. */
export interface GatewayCommandContext extends CommandContext {
  /** Returns the path of the configuration file if an option names one. */
  configPath(): string | undefined
  readFile(): Promise<ConfigFile>
}
