import { randomBytes } from 'node:crypto'
import { isJsonObject } from '@postern/core'
import type { ConfigFilling, SimulatedPlaces } from '@postern/http'
import type { Simulation } from '@postern/simulation'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule } from '../config/channel-slices.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { createConfigFaults, parseConfig } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import type { MissingSetting } from '../config/secrets.ts'

/** What the files of one run mean in its simulated network: secrets that are made up stay the same from one file to the next. */
interface DevConfigs {
  /** @throws AggregateError of ConfigErrors */
  parse(file: ConfigFile): Config
  /** Those of the file that was parsed last. */
  madeUp(): readonly MadeUpSecret[]
}

export function createDevConfigs({ network, mail, a2a }: Simulation): DevConfigs {
  const secret = randomBytes(18).toString('base64url')
  const { dns, loopback } = network
  const issuers = [a2a.issuerConfig, a2a.deadIssuerConfig]
  const known = new Map<string, MadeUpSecret>()
  let madeUp: readonly MadeUpSecret[] = []
  return {
    parse({ tree, missing }) {
      madeUp = makeUpSecrets(missing, [...known.values()])
      for (const made of madeUp) known.set(made.source, made)
      const filled = fillAll(tree, [...toFillings(madeUp), ...devDefaults])
      const places = { submit: mail.submit, issuers, origin: String(filled.origin), secret }
      return parseConfig(fillAll(filled, simulatedDefaults({ dns, loopback, ...places })))
    },
    madeUp: () => madeUp,
  }
}

/** Members that hold a secret of any form. The operator's token is none of them: dev mode keeps one beside the data. */
const secretName = /(?:^|_)(?:secret|password|token|key)$/
const notMadeUp = new Set(['operator_token', 'public_key'])

export interface MadeUpSecret {
  /** The variable or file that has no value. */
  readonly source: string
  /** Where the configuration uses it: `agents.py.secret`. */
  readonly key: string
  readonly value: string
}

/**
 * A random value for each secret that is missing, for this run only. One source gives one value, wherever it is used; `known` ones keep
 * theirs.
 */
function makeUpSecrets(
  missing: readonly MissingSetting[],
  known: readonly MadeUpSecret[] = [],
): readonly MadeUpSecret[] {
  const values = new Map(known.map(({ source, value }) => [source, value]))
  return missing.filter(isSecret).map(({ path, source }) => {
    const value = values.get(source) ?? randomBytes(32).toString('base64url')
    values.set(source, value)
    return { source, key: path.join('.'), value }
  })
}

function isSecret({ path }: MissingSetting): boolean {
  const name = path.at(-1) ?? ''
  // Items of a list are not filled in, so nothing can be made up inside one.
  const isInList = path.some(part => /^\d+$/.test(part))
  return secretName.test(name) && !notMadeUp.has(name) && !isInList
}

function toFillings(secrets: readonly MadeUpSecret[]): readonly ConfigFilling[] {
  return secrets.map(({ key, value }) => [key.replaceAll('.', '/'), value])
}

/** What dev mode adds where the file says nothing: enough to run on an empty machine. */
export const devDefaults: readonly ConfigFilling[] = [
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

type SimulatedNetwork = SimulatedPlaces & Pick<Simulation['network'], 'dns' | 'loopback'>

/** What the simulation adds on top: its DNS, its hosts, and what channels need of it. */
export function simulatedDefaults({ dns, loopback, ...places }: SimulatedNetwork): readonly ConfigFilling[] {
  return [
    ['network/dns', dns],
    ...Object.entries(loopback).map(([host, port]): ConfigFilling => [`network/loopback/${host}`, port]),
    ...channelModules.flatMap((module: AnyChannelModule) => module.simulatedDefaults?.(places) ?? []),
  ]
}

type Tree = Readonly<Record<string, unknown>>

/** Puts `value` at `path` unless something stands there already: what the file says is never overridden. */
function fillAbsent(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [head, ...rest] = path
  if (head === undefined) return tree
  const present = tree[head]
  if (rest.length === 0) return present === undefined ? { ...tree, [head]: value } : tree
  if (present !== undefined && !isJsonObject(present)) return tree
  return { ...tree, [head]: fillAbsent(present ?? {}, rest, value) }
}

export function fillAll(tree: Tree, fillings: readonly ConfigFilling[]): Tree {
  return fillings.reduce((filled, [path, value]) => fillAbsent(filled, path.split('/'), value), tree)
}

/** What a command beside the gateway goes by: a file that `start` would run as it stands, else the dev gateway's defaults. */
export function effectiveConfig(file: ConfigFile): Config {
  const { path, tree } = file
  const { dev, operator_token, origin } = tree
  if (file.missing.length > 0) throw createConfigFaults(file.missing.map(({ error }) => error))
  const isProduction = path !== undefined && dev !== true && operator_token !== undefined && origin !== undefined
  return isProduction ? parseConfig(tree) : devConfig(file)
}

/** The same beside a gateway that `dev` has started, whatever the file would be good for. */
export function devConfig({ tree, missing }: ConfigFile): Config {
  return parseConfig(fillAll(tree, [...toFillings(makeUpSecrets(missing)), ...devDefaults]))
}
