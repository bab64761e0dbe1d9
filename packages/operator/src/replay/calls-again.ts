// Handles calls of a replayed turn to other agents: skips the calls, or makes new ones.
import { randomUUID } from 'node:crypto'
import { Undeliverable } from '@postern/message'
import type { CallAgent } from '@postern/pipeline'

/** The calls of a replayed turn to other agents. */
interface ReplayCalls {
  readonly callAgent: CallAgent
  /** Returns the agents that the turn would have called, each once. */
  listSkippedAgents(): readonly string[]
}

/** Makes each call fail, and records its address. The answer of such a turn is not compared. */
export function leaveOutCalls(): ReplayCalls {
  const addresses = new Set<string>()
  return {
    async callAgent(address) {
      addresses.add(address)
      throw new Undeliverable('Cannot call agent: a replay leaves calls out')
    },
    listSkippedAgents: () => [...addresses],
  }
}

/** Makes calls under new keys, because the called agent would repeat its former answer to a known key. */
export function makeNewCalls(callAgent: CallAgent): ReplayCalls {
  const callRunId = randomUUID()
  return {
    callAgent: (address, parts, options) =>
      callAgent(address, parts, { ...options, retryKey: `${options.retryKey ?? ''} replay ${callRunId}` }),
    listSkippedAgents: () => [],
  }
}
