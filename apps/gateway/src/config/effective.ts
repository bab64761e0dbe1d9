import { devDefaults } from '../dev/defaults.ts'
import { fillAll } from '../dev/fill.ts'
import type { ConfigFile } from './read-config.ts'
import { parseConfig } from './read-config.ts'
import type { Config } from './schema.ts'

/** What a command beside the gateway goes by: a file that `start` would run as it stands, else the dev gateway's defaults. */
export function effectiveConfig({ path, tree }: ConfigFile): Config {
  const { dev, operator_token, origin } = tree
  const isProduction = path !== undefined && dev !== true && operator_token !== undefined && origin !== undefined
  return parseConfig(isProduction ? tree : fillAll(tree, devDefaults))
}
