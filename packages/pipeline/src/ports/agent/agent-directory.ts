// Declares the agents of a gateway by their names.

import type { AgentProfile } from './agent-profile.ts'

/** The agents of this gateway. */
export interface AgentDirectory {
  /** The host of every address `@agent@domain`. */
  readonly domain: string
  /** The https origin of the gateway, without a trailing slash. */
  readonly origin: string
  readonly defaultAgent: string | undefined
  find(name: string): AgentProfile | undefined
  list(): readonly AgentProfile[]
}
