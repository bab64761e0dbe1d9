// Completes a configuration file for dev mode with defaults, generated secrets and the simulated network.
import { randomBytes } from 'node:crypto'
import type { ConfigDefault, SimulationAccess } from '@postern/http'
import { isJsonObject, listConfigFaults } from '@postern/message'
import type { Simulation } from '@postern/simulation'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule } from '../config/channel-slices.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { createConfigFaults, parseConfig } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import type { MissingSetting } from '../config/secrets.ts'
import type { ConfigTree } from '../tree/config-tree.ts'
import type { GeneratedSecret } from './generated-secrets.ts'
import { fillSecrets, generateSecrets } from './generated-secrets.ts'

/** The configurations of one run in its simulated network. Generated secrets stay the same when a file changes. */
interface DevConfigs {
  /** Completes a file with dev mode's values and parses it. @throws AggregateError of ConfigErrors */
  parse(file: ConfigFile): Config
  /** Returns the generated secrets of the last file. */
  listGeneratedSecrets(): readonly GeneratedSecret[]
}

export function createDevConfigs({ network, mail, a2a }: Simulation): DevConfigs {
  const secret = randomBytes(18).toString('base64url')
  const { dns, loopback } = network
  const issuers = [a2a.issuerConfig, a2a.deadIssuerConfig]
  const secretsBySource = new Map<string, GeneratedSecret>()
  let generatedSecrets: readonly GeneratedSecret[] = []
  return {
    parse({ tree, missingSettings: missing }) {
      generatedSecrets = generateSecrets(missing, [...secretsBySource.values()])
      for (const secret of generatedSecrets) secretsBySource.set(secret.source, secret)
      const filledTree = fillConfig(fillSecrets(tree, generatedSecrets), devDefaults)
      const access = { submit: mail.submit, issuers, origin: String(filledTree.origin), secret }
      return parseFilledConfig(fillConfig(filledTree, simulatedDefaults({ dns, loopback, ...access })), missing)
    },
    listGeneratedSecrets: () => generatedSecrets,
  }
}

/** Values that dev mode adds for absent keys, so that it runs without a file. */
export const devDefaults: readonly ConfigDefault[] = [
  ['dev', true],
  ['origin', 'https://agents.test'],
  ...channelModules.flatMap(({ devDefaults = [] }: AnyChannelModule) => devDefaults),
  ['payments', { use: 'builtin:test' }],
  [
    'agents',
    {
      echo: {
        name: 'Echo',
        description: 'Says back what it heard, from whom, and how that was proven.',
        use: 'builtin:echo',
      },
      help: {
        name: 'Help',
        description: 'Shows history, attachments, a tool call and a refusal. Say "help".',
        use: 'builtin:help',
      },
    },
  ],
]

type SimulatedNetwork = SimulationAccess & Pick<Simulation['network'], 'dns' | 'loopback'>

/** Returns the values of the simulation: its DNS, its hosts, and settings of channels. */
export function simulatedDefaults({ dns, loopback, ...access }: SimulatedNetwork): readonly ConfigDefault[] {
  return [
    ['network/dns', dns],
    ...Object.entries(loopback).map(([host, port]): ConfigDefault => [`network/loopback/${host}`, port]),
    ...channelModules.flatMap((module: AnyChannelModule) => module.simulatedDefaults?.(access) ?? []),
  ]
}

/** Fills the value at `path`. A plain value of the file on the path stays as it is. */
function fillAt(tree: ConfigTree, path: readonly string[], fill: (presentValue: unknown) => unknown): ConfigTree {
  const [key, ...innerPath] = path
  if (key === undefined) return tree
  const presentValue = tree[key]
  if (innerPath.length === 0) return { ...tree, [key]: fill(presentValue) }
  if (presentValue !== undefined && !isJsonObject(presentValue)) return tree
  return { ...tree, [key]: fillAt(presentValue ?? {}, innerPath, fill) }
}

/** Appends the items of `value` that no present item has by their `identifyingMember`. */
function appendMissingItems(presentItems: unknown, value: unknown, identifyingMember: string): unknown {
  if (!Array.isArray(presentItems) || !Array.isArray(value)) return presentItems
  const readIdentity = (item: unknown) => (isJsonObject(item) ? item[identifyingMember] : undefined)
  const presentNames = new Set(presentItems.map(readIdentity))
  return [...presentItems, ...value.filter(item => !presentNames.has(readIdentity(item)))]
}

export function fillConfig(tree: ConfigTree, fillings: readonly ConfigDefault[]): ConfigTree {
  return fillings.reduce((filledTree, [path, value, identifyingMember]) => {
    const fill = (presentValue: unknown) =>
      presentValue === undefined
        ? value
        : identifyingMember === undefined
          ? presentValue
          : appendMissingItems(presentValue, value, identifyingMember)
    return fillAt(filledTree, path.split('/'), fill)
  }, tree)
}

/** Returns the configuration of a command: the file itself if `start` would run it, or else the file with dev mode’s defaults. */
export function parseEffectiveConfig(file: ConfigFile): Config {
  if (file.missingSettings.length > 0) throw createConfigFaults(file.missingSettings.map(({ error }) => error))
  return isForProduction(file) ? parseConfig(file.tree) : parseDevConfig(file)
}

/** Returns true if `start` would run a file as it is. */
export function isForProduction({ path, tree }: Pick<ConfigFile, 'path' | 'tree'>): boolean {
  const { dev, operator_token, origin } = tree
  return path !== undefined && dev !== true && operator_token !== undefined && origin !== undefined
}

/** Returns the configuration of a command that runs beside a gateway in dev mode. */
export function parseDevConfig({ tree, missingSettings: missing }: ConfigFile): Config {
  return parseFilledConfig(fillConfig(fillSecrets(tree, generateSecrets(missing)), devDefaults), missing)
}

/** Parses a filled configuration. The fault of a value from a missing variable or file names that variable or file. */
function parseFilledConfig(tree: ConfigTree, missingSettings: readonly MissingSetting[]): Config {
  try {
    return parseConfig(tree)
  } catch (error) {
    const faults = listConfigFaults(error)
    if (faults.length === 0) throw error
    const explainedFaults = faults.map(
      fault => missingSettings.find(({ error: { key } }) => key === fault.key)?.error ?? fault,
    )
    throw createConfigFaults(explainedFaults)
  }
}
