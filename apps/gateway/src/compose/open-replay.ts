// Opens the dependencies of replays: those of real turns, without those that send or change something.
import { agentKinds } from '@postern/agents'
import type { ReplayRouteDeps } from '@postern/operator'
import { openPublisherDeps, openTurnDeps } from '../work/work.ts'
import { openAgentFile } from './replay-agent.ts'
import type { GatewayResources } from './resources.ts'
import { createAgentOptions } from './resources.ts'

export function openReplay(resources: GatewayResources): ReplayRouteDeps {
  const { config, agents, requirements } = resources
  const { forOperators: store } = resources.store
  const agentOptions = createAgentOptions(config, resources)
  return {
    turn: {
      ...openTurnDeps(resources),
      store,
      requirements: requirements.states,
      // A replay makes one attempt and reports its failure.
      retry: { initialDelayMs: 1_000, maxDelayMs: 1_000, giveUpAfterMs: 0 },
      maxCrashes: 1,
    },
    commit: openPublisherDeps(resources),
    findAgent: agents.findRunning,
    runsHere: name => runsHere(config.agents[name]?.use),
    openAgentFile: (name, file) => openAgentFile(name, file, { config, agentOptions }),
  }
}

function runsHere(use: string | undefined): boolean {
  return use !== undefined && agentKinds.find(({ usePattern }) => usePattern.test(use))?.runsHere === true
}
