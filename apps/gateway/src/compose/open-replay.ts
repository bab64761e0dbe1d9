import { readStoreNote } from '@postern/transcript'
import type { ReplayRouteOptions } from '../commands/replay/route.ts'
import { readMentionFanoutLimits } from '../config/loops.ts'
import { handleHostOf } from '../config/schema.ts'
import { softwareVersion } from '../platform/version.ts'
import { openAgentFile } from '../replay/agent-file.ts'
import { openPublisherDeps } from '../work/work.ts'
import type { Foundation } from './foundation.ts'

/** What replays run with: the turns' own parts, but for what would leave the gateway or change it. */
export function openReplay(foundation: Foundation): ReplayRouteOptions {
  const { config, store, channels, agents, attachments, requirements, operators, platform, baseDir } = foundation
  const opening = {
    ...{ domain: handleHostOf(config), origin: config.origin, version: softwareVersion },
    ...{ baseDir, platform, stores: store, operators, log: platform.log },
  }
  return {
    turn: {
      ...{ store, platform, channels, requirements: requirements.states, readNote: readStoreNote, ...attachments },
      fanout: readMentionFanoutLimits(config.limits.loop),
      // One try: what fails is reported.
      retry: { baseMs: 1_000, capMs: 1_000, giveUpAfterMs: 0 },
      maxCrashes: 1,
      get callAgent() {
        return channels.map(({ callAgent }) => callAgent).find(call => call !== undefined)
      },
    },
    commit: openPublisherDeps({ store, platform, channels, attachments }),
    findAgent: agents.findRunning,
    findUse: name => config.agents[name]?.use,
    openAgentFile: (name, file) => openAgentFile(name, file, { config, opening }),
  }
}
