// Prints the configuration with its defaults, masks secrets, and lists the source of each value.
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { ListedSetting, SettingList } from '@postern/operator'
import type { Output } from '@postern/operator/commands'
import { listVariables } from '../config/environment.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { createConfigFaults } from '../config/read-config.ts'
import { configSchema } from '../config/schema.ts'
import { createDevConfigs } from '../dev/dev-configs.ts'
import { maskSettings } from '../masking/secret-settings.ts'
import { setAt } from '../tree/config-tree.ts'
import type { IncompleteConfig } from './incomplete-config.ts'
import { readIncompleteConfig } from './incomplete-config.ts'

/**
 * Prints the configuration with all defaults filled in and all secrets masked. A missing value shows its reason, and the faults follow at
 * the end.
 * @throws AggregateError of ConfigErrors
 */
export async function printConfig(file: ConfigFile, output: Output): Promise<void> {
  const { config, reasons, faults } = readIncompleteConfig(file)
  printMaskedConfig(config, file, { reasons, output })
  if (faults.length > 0) throw createConfigFaults(faults)
}

/**
 * Prints the configuration that `dev` derives from the file. Its simulated network gets other ports at each start.
 * @throws AggregateError of ConfigErrors
 */
export async function printDevConfig(file: ConfigFile, output: Output): Promise<void> {
  const { openSimulation } = await import('@postern/simulation')
  const simulation = await openSimulation()
  try {
    printMaskedConfig(createDevConfigs(simulation).parse(file), file, {
      reasons: readIncompleteConfig(file).reasons,
      output,
    })
  } finally {
    await simulation.close()
  }
}

interface PrintOptions extends Pick<IncompleteConfig, 'reasons'> {
  readonly output: Output
}

function printMaskedConfig(config: unknown, { references }: ConfigFile, { reasons, output }: PrintOptions): void {
  const maskedTree = maskSettings({ tree: config, references })
  const shownTree = reasons.reduce((tree, { path, reason }) => setAt(tree, path, reason), maskedTree)
  output.print(JSON.stringify(shownTree, null, 2))
}

interface SettingSources {
  /** The configuration of the running gateway. */
  readonly config: object
  /** The values of the file and the variables, before defaults. */
  readonly fileConfig: object
  /** The paths of values that came from variables and files. */
  readonly references?: readonly (readonly string[])[] | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The agent whose values are listed. Absent for the values of the gateway and of its first agents. */
  readonly agent?: string | undefined
}

/** The largest number of agents whose values are listed together. */
const maxListedAgents = 50

/** Lists values of the configuration with their sources. It reads only the agents that it lists, because there may be very many. */
export function listSettings({ config, fileConfig, references = [], agent, ...sources }: SettingSources): SettingList {
  const allNames = Object.keys(readAgents(config))
  const names = agent === undefined ? allNames.slice(0, maxListedAgents) : [agent]
  const isListed = ([first, name = '']: readonly string[]) => first !== 'agents' || names.includes(name)
  const settings = listSources({
    ...sources,
    config: pickAgents(config, names),
    fileConfig: pickAgents(fileConfig, names),
    references: references.filter(isListed),
  })
  if (agent === undefined) return { settings, agents_left_out: allNames.length - names.length }
  return { settings: settings.filter(({ key }) => key.startsWith(`agents.${agent}.`)), agents_left_out: 0 }
}

function readAgents(config: object): Readonly<Record<string, unknown>> {
  const { agents } = config as { readonly agents?: unknown }
  return isJsonObject(agents) ? agents : {}
}

function pickAgents(config: object, names: readonly string[]): object {
  const agents = readAgents(config)
  const listedAgents = names.filter(name => Object.hasOwn(agents, name)).map(name => [name, agents[name]] as const)
  return { ...config, ...('agents' in config && { agents: Object.fromEntries(listedAgents) }) }
}

/** Lists every value of a configuration with its source. Dev mode is the source of values that are neither given nor defaults. */
function listSources({
  config,
  fileConfig: givenConfig,
  references,
  environment,
}: Omit<SettingSources, 'agent'>): readonly ListedSetting[] {
  const variables = new Set(
    [...listVariables()].filter(([name]) => environment[name] !== undefined).map(([, { path }]) => path.join('.')),
  )
  const fileValues = new Map(listValues(givenConfig))
  const defaults = new Map(listValues(findDefaults(givenConfig)))
  const unmaskedValues = new Map(listValues(config))
  return listValues(maskSettings({ tree: config, references }) as object).map(([key, value]) => {
    const isDefault = isDeepStrictEqual(defaults.get(key), unmaskedValues.get(key))
    const source = variables.has(key) ? 'environment' : fileValues.has(key) ? 'file' : isDefault ? 'default' : 'dev'
    return { key, value, source }
  })
}

/** Returns the defaults that the file would have without dev mode. */
function findDefaults(fileConfig: object): object {
  const result = configSchema.safeParse({ origin: 'https://agents.example', agents: {}, ...fileConfig, dev: false })
  return result.success ? result.data : {}
}

/** Lists the values of a tree with their paths. Lists count as values. */
function listValues(tree: object, path = ''): readonly (readonly [string, Json])[] {
  return Object.entries(tree).flatMap(([name, value]) => {
    const key = path === '' ? name : `${path}.${name}`
    if (value === undefined) return []
    return isJsonObject(value) && Object.keys(value).length > 0
      ? listValues(value, key)
      : [[key, value as Json] as const]
  })
}
