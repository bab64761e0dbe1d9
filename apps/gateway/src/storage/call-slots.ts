// Limits the concurrent calls, in all and for each agent, so that an agent that hangs delays no other one.

/** The maximum numbers of concurrent calls, in total and for one agent. */
const [maxCalls, maxCallsOfAgent] = [16, 4]

export class CallSlots {
  readonly #agents = new Map<string, string>()
  readonly #running = new Set<Promise<unknown>>()

  isRunning(id: string): boolean {
    return this.#agents.has(id)
  }

  /** Runs a call if there is a slot for it, and otherwise returns undefined. */
  run<Result>(id: string, agent: string, call: () => Promise<Result>): Promise<Result> | undefined {
    const callsOfAgent = [...this.#agents.values()].filter(name => name === agent).length
    if (this.isRunning(id) || this.#agents.size >= maxCalls || callsOfAgent >= maxCallsOfAgent) return undefined
    this.#agents.set(id, agent)
    const runningCall = call().finally(() => {
      this.#agents.delete(id)
      this.#running.delete(runningCall)
    })
    this.#running.add(runningCall)
    return runningCall
  }

  /** Resolves when no calls are running. */
  async waitForCalls(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }
}
