// Walks the settings of all agents without a list of them.
import type { Config } from './schema.ts'

type AgentConfigs = Config['agents']

/**
 * Yields the name and the settings of each agent. `Object.entries` keeps a pair for each agent until the walk ends, which takes several times as
 * long for a hundred thousand agents.
 */
export function* walkAgents(agents: AgentConfigs): Generator<readonly [name: string, settings: AgentConfigs[string]]> {
  for (const name of Object.keys(agents)) {
    const settings = agents[name]
    if (settings) yield [name, settings]
  }
}
