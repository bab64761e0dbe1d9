// Finds the module files that a test replaces with modules that it has imported.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/message'
import type { ConfigFile } from '../config/read-config.ts'

type AgentEntries = Readonly<Record<string, { readonly use?: unknown } | undefined>>

/** Matches a path by which the configuration names a module. */
const pathPattern = /^\.{0,2}\//

/** Maps the URLs of files to their modules. The keys of `modules` are names of agents, or paths from the configuration file. @throws ConfigError */
export function locateModules(
  modules: Readonly<Record<string, object>>,
  { tree, baseDir }: Pick<ConfigFile, 'tree' | 'baseDir'>,
): ReadonlyMap<string, unknown> {
  const agents = (tree.agents ?? {}) as AgentEntries
  return new Map(
    Object.entries(modules).map(([name, module]) => {
      const file = resolve(baseDir, pathPattern.test(name) ? checkPath(name, baseDir) : findAgentPath(name, agents))
      return [pathToFileURL(file).href, module]
    }),
  )
}

function checkPath(path: string, baseDir: string): string {
  if (existsSync(resolve(baseDir, path))) return path
  throw new ConfigError(`modules.${path}`, `there is no file ${resolve(baseDir, path)}`, 'Correct the path.')
}

function findAgentPath(name: string, agents: AgentEntries): string {
  const use = agents[name]?.use
  if (typeof use === 'string' && pathPattern.test(use)) return use
  if (use === undefined) {
    const names = Object.keys(agents).join(', ') || 'none'
    throw new ConfigError(`modules.${name}`, `there is no agent "${name}"`, `Name one of the agents: ${names}.`)
  }
  const fix = 'Give modules of its tools by their paths, such as "./agents/tools.ts".'
  throw new ConfigError(`modules.${name}`, `the agent "${name}" is not a module, it uses ${JSON.stringify(use)}`, fix)
}
