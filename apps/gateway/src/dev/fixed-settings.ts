import { isDeepStrictEqual } from 'node:util'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'

/** Settings that hold as long as the gateway runs: where it is, where it keeps what, and who operates it. */
const fixedSettings: readonly string[] = [
  ...['origin', 'handle_host', 'listen', 'data', 'store', 'operator_token', 'dev', 'log'],
  ...channelModules.flatMap(({ descriptor, fixedMembers = [] }: AnyChannelModule) =>
    fixedMembers.map(member => `${descriptor.name}.${member}`),
  ),
]

interface FixedConfig {
  /** The new configuration with the running one's fixed settings. */
  readonly config: Config
  /** Names of settings that a restart would change. */
  readonly waiting: readonly string[]
}

type Tree = Readonly<Record<string, unknown>>

/** What of a new configuration can be applied to a gateway that runs. */
export function keepFixedSettings(changed: Config, running: Config): FixedConfig {
  let config: unknown = changed
  const waiting = fixedSettings.filter(name => {
    const path = name.split('.')
    const [wanted, kept] = [readAt(changed, path), readAt(running, path)]
    if (isDeepStrictEqual(wanted, kept)) return false
    config = writeAt(config as Tree, path, kept)
    return true
  })
  return { config: config as Config, waiting }
}

function readAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Tree | undefined)?.[key], tree)
}

function writeAt(tree: Tree, [head = '', ...rest]: readonly string[], value: unknown): Tree {
  return { ...tree, [head]: rest.length === 0 ? value : writeAt(tree[head] as Tree, rest, value) }
}
