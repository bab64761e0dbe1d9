import { devDefaults } from '../dev/defaults.ts'
import { fillAll } from '../dev/fill.ts'
import type { ConfigFile } from './read-config.ts'
import { parseConfig } from './read-config.ts'
import type { Config } from './schema.ts'

/** What a command beside the gateway goes by: a production file as it stands, else the dev gateway's defaults. */
export function effectiveConfig({ path, tree }: ConfigFile): Config {
  const isProduction = path !== undefined && tree.dev !== true && tree.operator_token !== undefined
  return parseConfig(isProduction ? tree : fillAll(tree, devDefaults))
}
