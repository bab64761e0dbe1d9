import { join, resolve } from 'node:path'
import { ConfigError } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import { isPostgresUrl, openSqliteStore } from '@postern/store'
import type { ChannelSlice } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import { loadPostgres } from '../platform/load-postgres.ts'
import type { GatewayPlatform } from '../platform/platform.ts'
import { makeDataDirectory } from '../platform/run-file.ts'

interface StorePosition {
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  readonly platform: GatewayPlatform
  readonly holder: string
  readonly slices: readonly ChannelSlice[]
}

/** The store that the configuration names. @throws ConfigError */
export async function openConfiguredStore(
  { data, store }: Pick<Config, 'data' | 'store'>,
  { baseDir, platform, holder, onUnusable, slices }: StorePosition,
): Promise<GatewayStore> {
  const directory = resolve(baseDir, data)
  makeDataDirectory(directory)
  const { now, log } = platform
  const channels = slices.map(({ module }) => module.descriptor)
  const [bytes] = slices.flatMap(({ module, config }) => module.openBytes?.(config, platform) ?? [])
  if (isPostgresUrl(store)) {
    const { openPostgresStore } = await loadPostgres()
    return openPostgresStore({ url: store, now, log, channels, holder, onUnusable, bytes })
  }
  if (store !== 'sqlite') throw new ConfigError('store', 'is no store', 'Use "sqlite" or "postgres://…".')
  return openSqliteStore({ path: join(directory, 'postern.db'), now, log, channels, exclusive: true, bytes })
}
