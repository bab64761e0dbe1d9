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
  /** Lists the agents. It returns the same array until they change, so that callers can keep what they derive from it. */
  list(): readonly AgentProfile[]
}
