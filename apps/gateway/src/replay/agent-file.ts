import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import type { AgentDepsOptions } from '@postern/agents'
import { openAgents, withNewOperatorModules } from '@postern/agents'
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
 * Opens a module of the project in the place of an agent, with the agent's other settings; it and what it imports are loaded anew. Only files below
 * the folder of the configuration, or of the agent's own module, are loaded: who holds the operator's token runs what is there, and nothing else.
 * @throws Rejection `malformed`, `forbidden`
 */
export async function openAgentFile(name: string, file: string, deps: AgentFileDeps): Promise<ReplayAgent> {
  const { config, opening } = deps
  const use = findInProject(file, listRoots(config.agents[name], opening.baseDir), opening.baseDir)
  try {
    const agent = { ...keepCommon(config.agents[name]), use }
    const agents = await withNewOperatorModules(() =>
      openAgents({ agents: { [name]: agent }, default_agent: name }, opening),
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

/** Where modules of the project are: beside its configuration, and beside the module that answers today. */
function listRoots(agent: Readonly<Record<string, unknown>> = {}, baseDir: string): readonly string[] {
  const own =
    typeof agent.use === 'string' && modulePattern.test(agent.use) ? [dirname(resolve(baseDir, agent.use))] : []
  return [baseDir, ...own].flatMap(folder => findReal(folder) ?? [])
}

const modulePattern = /^\.{0,2}\/.*\.(?:ts|mts|js|mjs)$/

/** The whole path of a module of the project. @throws Rejection */
function findInProject(file: string, roots: readonly string[], baseDir: string): string {
  const real = findReal(resolve(baseDir, file))
  if (real === undefined) throw new Rejection('malformed', `Cannot replay: there is no file "${file}" in the project`)
  if (!roots.some(root => real.startsWith(root + sep)) || real.split(sep).includes('node_modules')) {
    throw new Rejection('forbidden', `Cannot replay: "${file}" is outside of the project's folder`)
  }
  if (modulePattern.test(real)) return real
  throw new Rejection('malformed', `Cannot replay: "${file}" is no module (.ts, .mts, .js or .mjs)`)
}

/** Behind links. */
function findReal(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
