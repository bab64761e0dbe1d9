import type { ConfigFile } from '../config/read-config.ts'
import { parseConfig } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { devDefaults } from './defaults.ts'
import { fillAll } from './fill.ts'
import { makeUpSecrets, toFillings } from './made-up-secrets.ts'

/** What a command beside the gateway goes by: a file that `start` would run as it stands, else the dev gateway's defaults. */
export function effectiveConfig(file: ConfigFile): Config {
  const { path, tree } = file
  const { dev, operator_token, origin } = tree
  if (file.missing.length > 0)
    throw new AggregateError(
      file.missing.map(({ error }) => error),
      'The configuration has faults',
    )
  const isProduction = path !== undefined && dev !== true && operator_token !== undefined && origin !== undefined
  return isProduction ? parseConfig(tree) : devConfig(file)
}

/** The same beside a gateway that `dev` has started, whatever the file would be good for. */
export function devConfig({ tree, missing }: ConfigFile): Config {
  return parseConfig(fillAll(tree, [...toFillings(makeUpSecrets(missing)), ...devDefaults]))
}
