import type { Json } from '@postern/core'

/** One value of the configuration, as the operator sees it. */
export interface ListedSetting {
  /** Path of the value, with dots. */
  readonly key: string
  /** Secrets are masked. */
  readonly value: Json
  readonly source: 'file' | 'environment' | 'default' | 'dev'
}
