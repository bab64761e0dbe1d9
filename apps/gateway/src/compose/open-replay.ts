// Gives replays the dependencies of real turns, without those that send or change something.
import { agentKinds } from '@postern/agents'
import type { ReplayRouteDeps } from '@postern/operator'
import { openPublisherDeps, openTurnDeps } from '../work/work.ts'
import type { GatewayResources } from './foundation.ts'
import { readAgentOpening } from './foundation.ts'
import { openAgentFile } from './replay-agent.ts'

/** Returns the dependencies of real turns, without those that would send or change something. */
export function openReplay(foundation: GatewayResources): ReplayRouteDeps {
  const { config, agents, requirements } = foundation
  const { forOperators: store } = foundation.store
  const opening = readAgentOpening(config, foundation)
  return {
    turn: {
      ...openTurnDeps(foundation),
      ...{ store, requirements: requirements.states },
      // A replay makes one attempt and reports its failure.
      retry: { initialDelayMs: 1_000, maxDelayMs: 1_000, giveUpAfterMs: 0 },
      maxCrashes: 1,
    },
    commit: openPublisherDeps(foundation),
    findAgent: agents.findRunning,
    runsHere: name => runsHere(config.agents[name]?.use),
    openAgentFile: (name, file) => openAgentFile(name, file, { config, opening }),
  }
}

function runsHere(use: string | undefined): boolean {
  return use !== undefined && agentKinds.find(({ usePattern }) => usePattern.test(use))?.runsHere === true
}
