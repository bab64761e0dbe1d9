// Reads a configuration that lacks some of its values, so that people can inspect it.

import type { ConfigError } from '@postern/message'
import { listConfigFaults } from '@postern/message'
import type { ConfigFile } from '../config/read-config.ts'
import { parseConfig } from '../config/read-config.ts'
import { devDefaults, fillConfig, isForProduction } from '../dev/dev-configs.ts'
import { generateSecrets } from '../dev/generated-secrets.ts'
import type { ConfigTree } from '../tree/config-tree.ts'
import { setAt } from '../tree/config-tree.ts'

export interface IncompleteConfig {
  /** The configuration with its defaults, or the file as it is if it has other faults. */
  readonly config: unknown
  /** The paths without a value, each with the reason. */
  readonly reasons: readonly { readonly path: readonly string[]; readonly reason: string }[]
  /** The faults that keep the gateway from starting. */
  readonly faults: readonly ConfigError[]
}

/** The placeholders. Every kind of text in the schema accepts one of them. */
const placeholders = ['0'.repeat(64), 'https://unset.invalid', 'postgres://unset.invalid/unset', 'unset', '1h', '1']

/** Reads the configuration with placeholders for its missing values. */
export function readIncompleteConfig({
  tree,
  missingSettings,
  path,
}: Pick<ConfigFile, 'tree' | 'missingSettings' | 'path'>): IncompleteConfig {
  const filledTree = missingSettings.reduce(
    (partial, setting) => fillBestPlaceholder(partial, setting.path, path),
    tree as ConfigTree,
  )
  const generatedKeys = new Set(
    isForProduction({ path, tree: filledTree }) ? [] : generateSecrets(missingSettings).map(({ key }) => key),
  )
  const missingErrors = missingSettings
    .filter(setting => !generatedKeys.has(setting.path.join('.')))
    .map(({ error }) => error)
  const { config, faults } = parseTree(filledTree, path)
  return {
    config: config ?? tree,
    reasons: missingSettings.map(({ path: settingPath, problem }) => ({
      path: settingPath,
      reason: generatedKeys.has(settingPath.join('.'))
        ? `(dev mode generates it: ${problem})`
        : `(missing: ${problem})`,
    })),
    faults: [...missingErrors, ...faults.filter(({ key }) => !missingErrors.some(error => error.key === key))],
  }
}

/** Fills a missing value with the placeholder that causes the fewest faults. Leaves the value absent if no placeholder fits. */
function fillBestPlaceholder(tree: ConfigTree, missingPath: readonly string[], path: string | undefined): ConfigTree {
  const trees = placeholders.map(placeholder => setAt(tree, missingPath, placeholder) as ConfigTree)
  const candidates = [...trees, tree].map(candidate => ({
    config: candidate,
    faultCount: parseTree(candidate, path).faults.length,
  }))
  return candidates.toSorted((left, right) => left.faultCount - right.faultCount)[0]?.config ?? tree
}

function parseTree(tree: ConfigTree, path: string | undefined): { config?: unknown; faults: readonly ConfigError[] } {
  const isProductionFile = isForProduction({ path, tree: { ...tree } })
  try {
    return { config: parseConfig(isProductionFile ? tree : fillConfig(tree, devDefaults)), faults: [] }
  } catch (error) {
    return { faults: listConfigFaults(error) }
  }
}
