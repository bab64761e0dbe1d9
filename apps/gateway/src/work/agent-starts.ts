// Calls `start()` of each agent when the gateway begins to work, and retries it after a failure.
import type { AgentDeps } from '@postern/agents'
import type { Log, System } from '@postern/message'
import { bindLog } from '@postern/message'
import type { FailedStart } from '@postern/operator'
import type { AgentPublisher } from '@postern/pipeline'

/** The starts of all agents. */
export interface AgentStarts {
  /** Lists the agents whose last `start()` failed. */
  listFailed(): readonly FailedStart[]
  /** Resolves once the first `start()` of every agent has ended. It never resolves for an agent that keeps running in `start()`. */
  readonly firstEnded: Promise<unknown>
}

interface StartDeps {
  readonly agents: Pick<AgentDeps, 'list' | 'findRunning'>
  readonly system: Pick<System, 'now' | 'sleep'> & { readonly log: Log }
  openPublisher(agent: string, log: Log): AgentPublisher
}

/** The pauses between retries double from the first to the longest, ms. */
const [minRetryMs, maxRetryMs] = [1_000, 5 * 60_000]

/**
 * Starts every agent. Retries a failed `start()` after growing pauses until `signal` aborts. Messages still reach an agent that failed to
 * start.
 */
export function startAgents({ agents, system, openPublisher }: StartDeps, signal: AbortSignal): AgentStarts {
  const failedStarts = new Map<string, FailedStart>()

  /** Starts an agent. Returns its error instead of throwing it. */
  async function tryStart(name: string): Promise<{ readonly error: unknown } | undefined> {
    const log = bindLog(system.log, { agent: name })
    try {
      await agents.findRunning(name)?.agent.start?.(openPublisher(name, log))
      if (failedStarts.delete(name)) log.warn({}, 'agent started again')
      return undefined
    } catch (error) {
      return { error }
    }
  }

  function recordFailure(agent: string, { error, ranMs }: { readonly error: unknown; readonly ranMs: number }): number {
    // A long run before the failure means that the agent had started.
    const earlierFailures = ranMs > maxRetryMs ? 0 : (failedStarts.get(agent)?.failures ?? 0)
    const pauseMs = Math.min(maxRetryMs, minRetryMs * 2 ** earlierFailures)
    failedStarts.set(agent, { agent, error, failures: earlierFailures + 1, nextCallAt: system.now() + pauseMs })
    system.log.error({ agent, err: error, again_in_seconds: pauseMs / 1000 }, 'agent failed to start')
    return pauseMs
  }

  async function startUntilSuccess(name: string, onFirstEnd: () => void): Promise<void> {
    while (!signal.aborted) {
      const startedAt = system.now()
      const failure = await tryStart(name)
      // An agent may fail because it learns that the gateway stops.
      if (!failure || signal.aborted) return onFirstEnd()
      const pauseMs = recordFailure(name, { ...failure, ranMs: system.now() - startedAt })
      onFirstEnd()
      await system.sleep(pauseMs, signal)
    }
  }

  const firstStarts = agents
    .list()
    .filter(({ name }) => agents.findRunning(name)?.agent.start)
    .map(({ name }) => new Promise<void>(resolve => void startUntilSuccess(name, resolve)))
  return { listFailed: () => [...failedStarts.values()], firstEnded: Promise.all(firstStarts) }
}
