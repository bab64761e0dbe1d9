// Holds the directory of the running agents until a new configuration replaces them.

import type { AgentDirectory, AgentProfile, RunningAgent } from '@postern/pipeline'
import type { AgentIcon } from '../config/profile.ts'

/** The agents that run, by their names. */
export interface RunningDirectory extends AgentDirectory {
  findRunning(name: string): RunningAgent | undefined
  /** Finds the agent's picture if it is a file. `AgentProfile.iconUrl` is the address at which it is served. */
  findIcon(name: string): AgentIcon | undefined
}

/** An open agent: its profile, its running agent and its icon. */
export interface OpenAgent {
  readonly profile: AgentProfile
  readonly runningAgent: RunningAgent
  readonly icon: AgentIcon | undefined
  /** Closes the agent. Further calls do nothing. Errors are logged, not thrown. */
  close(): Promise<void>
}

/** The agents of one configuration. */
export interface AgentSet {
  readonly agents: ReadonlyMap<string, OpenAgent>
  readonly defaultAgent: string | undefined
}

/** Creates the directory of the running agents. Another set can replace them. */
export function createRunningAgents(firstSet: AgentSet, { domain, origin }: Pick<AgentDirectory, 'domain' | 'origin'>) {
  let currentSet = firstSet
  let profiles = listProfiles(firstSet)
  const directory: RunningDirectory = {
    domain,
    origin,
    get defaultAgent() {
      return currentSet.defaultAgent
    },
    find: name => currentSet.agents.get(name)?.profile,
    list: () => profiles,
    findRunning: name => currentSet.agents.get(name)?.runningAgent,
    findIcon: name => currentSet.agents.get(name)?.icon,
  }
  return {
    directory,
    listOpenAgents: () => [...currentSet.agents.values()],
    /** Replaces the running agents. @returns the previous ones */
    replace(nextSet: AgentSet): AgentSet {
      const previousSet = currentSet
      currentSet = nextSet
      profiles = listProfiles(nextSet)
      return previousSet
    },
  }
}

function listProfiles({ agents }: AgentSet): readonly AgentProfile[] {
  return [...agents.values()].map(({ profile }) => profile)
}
