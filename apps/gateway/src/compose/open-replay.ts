import type { ReplayRouteOptions } from '../commands/replay/route.ts'
import { openAgentFile } from '../replay/agent-file.ts'
import { openPublisherDeps, openTurnParts } from '../work/work.ts'
import type { Foundation } from './foundation.ts'
import { readAgentOpening } from './foundation.ts'

/** What replays run with: the turns' own parts, but for what would leave the gateway or change it. */
export function openReplay(foundation: Foundation): ReplayRouteOptions {
  const { config, store, agents, requirements } = foundation
  const opening = readAgentOpening(config, foundation)
  return {
    turn: {
      ...openTurnParts(foundation),
      ...{ store, requirements: requirements.states },
      // One try: what fails is reported.
      retry: { baseMs: 1_000, capMs: 1_000, giveUpAfterMs: 0 },
      maxCrashes: 1,
    },
    commit: openPublisherDeps(foundation),
    findAgent: agents.findRunning,
    findUse: name => config.agents[name]?.use,
    openAgentFile: (name, file) => openAgentFile(name, file, { config, opening }),
  }
}
