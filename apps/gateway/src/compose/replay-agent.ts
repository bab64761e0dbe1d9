// Opens a module of the project that answers in a replay in place of the configured agent.
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import type { AgentDepsOptions } from '@postern/agents'
import { openAgents, withReloadedModules } from '@postern/agents'
import { ConfigError, Rejection } from '@postern/message'
import type { ReplayAgent } from '@postern/operator'
import type { Config } from '../config/schema.ts'

interface AgentFileDeps {
  readonly config: Pick<Config, 'agents'>
  readonly agentOptions: AgentDepsOptions
}

/**
 * Opens a module of the project in place of an agent, with the agent's other settings. Loads the module and its imports afresh. Loads only files
 * below the folder of the configuration or of the agent's own module, so that the operator's token cannot run other code.
 * @throws Rejection `malformed`, `forbidden`
 */
export async function openAgentFile(name: string, file: string, deps: AgentFileDeps): Promise<ReplayAgent> {
  const { config, agentOptions } = deps
  const use = findInProject(file, listAllowedFolders(config.agents[name], agentOptions.baseDir), agentOptions.baseDir)
  try {
    const agent = { ...pickCommonSettings(config.agents[name]), use }
    const agents = await withReloadedModules(() =>
      openAgents({ agents: { [name]: agent }, default_agent: name }, agentOptions),
    )
    const running = agents.findRunning(name)
    if (!running) throw new Error(`the agent "${name}" was not opened`)
    return { running, close: () => agents.close() }
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    throw new Rejection('malformed', `Cannot replay: ${cause.message}`, { cause })
  }
}

/** The settings of every kind of agent that affect a turn. A module has no other settings. */
const commonSettings = ['deadline', 'history', 'receives', 'people'] as const

function pickCommonSettings(agent: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(commonSettings.flatMap(name => (agent[name] === undefined ? [] : [[name, agent[name]]])))
}

/** Returns the folders of the project’s modules: beside its configuration, and beside the agent’s present module. */
function listAllowedFolders(agent: Readonly<Record<string, unknown>> = {}, baseDir: string): readonly string[] {
  const ownFolder =
    typeof agent.use === 'string' && modulePattern.test(agent.use) ? [dirname(resolve(baseDir, agent.use))] : []
  return [baseDir, ...ownFolder].flatMap(folder => findRealPath(folder) ?? [])
}

const modulePattern = /^\.{0,2}\/.*\.(?:ts|mts|js|mjs)$/

/** Returns the absolute path of a module of the project. @throws Rejection */
function findInProject(file: string, allowedFolders: readonly string[], baseDir: string): string {
  const realPath = findRealPath(resolve(baseDir, file))
  if (realPath === undefined)
    throw new Rejection('malformed', `Cannot replay: there is no file "${file}" in the project`)
  if (!allowedFolders.some(root => realPath.startsWith(root + sep)) || realPath.split(sep).includes('node_modules')) {
    throw new Rejection('forbidden', `Cannot replay: "${file}" is outside of the project's folder`)
  }
  if (modulePattern.test(realPath)) return realPath
  throw new Rejection('malformed', `Cannot replay: "${file}" is not a module (.ts, .mts, .js or .mjs)`)
}

/** Resolves symbolic links; returns undefined if the file does not exist. */
function findRealPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
