import { realpathSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import type { AgentDepsOptions } from '@postern/agents'
import { openAgents, renewOperatorModules } from '@postern/agents'
import type { RunningAgent } from '@postern/core'
import { ConfigError, Rejection } from '@postern/core'
import type { Config } from '../config/schema.ts'

/** An agent that answers in a replay alone. */
export interface ReplayAgent {
  readonly running: RunningAgent
  close(): Promise<void>
}

interface AgentFileDeps {
  readonly config: Pick<Config, 'agents'>
  readonly opening: AgentDepsOptions
}

/**
 * Opens a module of the project in the place of an agent, with the agent's other settings; it and what it imports are loaded anew. Only files in
 * the folder of the configuration are loaded: who holds the operator's token runs what is there, and nothing else.
 * @throws Rejection `malformed`, `forbidden`
 */
export async function openAgentFile(name: string, file: string, deps: AgentFileDeps): Promise<ReplayAgent> {
  const { config, opening } = deps
  const use = findInProject(file, opening.baseDir)
  renewOperatorModules()
  try {
    const agents = await openAgents(
      { agents: { [name]: { ...keepCommon(config.agents[name]), use } }, default_agent: name },
      opening,
    )
    const running = agents.findRunning(name)
    if (!running) throw new Error(`the agent "${name}" was not opened`)
    return { running, close: () => agents.close() }
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    throw new Rejection('malformed', `Cannot replay: ${cause.message}`, { cause })
  }
}

/** What every kind of agent may be configured with and a turn depends on; a module has no other settings. */
const commonMembers = ['deadline', 'history', 'receives', 'people'] as const

function keepCommon(agent: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(commonMembers.flatMap(name => (agent[name] === undefined ? [] : [[name, agent[name]]])))
}

/** The path that the configuration would have. @throws Rejection */
function findInProject(file: string, baseDir: string): string {
  const real = findReal(resolve(baseDir, file))
  const path = real && relative(realpathSync(baseDir), real)
  if (path === undefined) throw new Rejection('malformed', `Cannot replay: there is no file "${file}" in the project`)
  if (path.startsWith('..') || resolve(path) === path || path.split(sep).includes('node_modules')) {
    throw new Rejection('forbidden', `Cannot replay: "${file}" is outside of the project's folder`)
  }
  if (!/\.(?:ts|mts|js|mjs)$/.test(path)) {
    throw new Rejection('malformed', `Cannot replay: "${file}" is no module (.ts, .mts, .js or .mjs)`)
  }
  return `./${path.split(sep).join('/')}`
}

/** Behind links. */
function findReal(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
