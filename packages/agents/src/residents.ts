import type { AgentProfile, Log, RunningAgent } from '@postern/core'
import type { AgentIcon } from './config/icon.ts'
import type { OpenedAgent } from './kind/agent-kind.ts'

/** An agent that is open. */
export interface OpenResident {
  readonly profile: AgentProfile
  readonly running: RunningAgent
  readonly icon: AgentIcon | undefined
  /** Once, however often it is asked. What it throws is logged. */
  close(): Promise<void>
}

/** An agent that another has replaced. Its turns may still run. */
export interface ReplacedAgent {
  readonly name: string
  close(): Promise<void>
}

/** Agents that are open and answer nobody yet. */
export interface AgentChange {
  /** They answer from now on. A turn that runs ends with the agent that began it. @returns the former ones, which the caller closes */
  commit(): readonly ReplacedAgent[]
  /** Closes them, and all stays as it is. */
  discard(): Promise<void>
}

/** Closes an agent once. An agent that fails to close keeps nothing else open. */
export function createAgentClosing(name: string, { close }: OpenedAgent, log: Log): () => Promise<void> {
  let closed: Promise<void> | undefined
  const closeQuietly = async () => {
    try {
      await close?.()
    } catch (error) {
      log.error({ agent: name, err: error }, 'agent failed to close')
    }
  }
  return () => {
    closed ??= closeQuietly()
    return closed
  }
}

export async function closeResidents(residents: Iterable<Pick<OpenResident, 'close'>>): Promise<void> {
  await Promise.all([...residents].map(({ close }) => close()))
}
