// Describes the setup of a gateway, which its store remembers so that no other gateway takes over the data by mistake.

/** Facts about a gateway that decide what its data means. Ports, folders and the mail server are not among them. */
export interface RunSetup {
  /** `simulation`: outgoing messages reach only simulated peers. */
  readonly mode: 'production' | 'simulation'
  readonly origin: string
  /** Names of the agents, sorted. */
  readonly agents: readonly string[]
  /** Issuers whose tokens it accepts, sorted. */
  readonly issuers: readonly string[]
}

/** The first fact in which a gateway differs from its store, or from a gateway that runs on the same store. */
export interface SetupDifference {
  readonly fact: keyof RunSetup
  /** The value of the store, or of the other gateway. */
  readonly stored: string
  readonly given: string
  /** True if a gateway that is running now has the other value. No option overrides such a difference. */
  readonly isRunning: boolean
}
