import { z } from 'zod'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule, ChannelConfigs } from './channel-slices.ts'
import { shapeOfChannels } from './channel-slices.ts'
import type { ownSchema } from './own-schema.ts'
import { ownShape } from './own-schema.ts'

/** The whole configuration file, with a member for each channel of the list. */
export function createConfigSchema(modules: readonly AnyChannelModule[]): z.ZodType<Config> {
  return z.strictObject({ ...ownShape, ...shapeOfChannels(modules) }) as unknown as z.ZodType<Config>
}

/** That of the program's own channels. */
export const configSchema = createConfigSchema(channelModules)

export type Config = z.output<typeof ownSchema> & ChannelConfigs

/** The domain of every `@agent@domain`. */
export function handleHostOf({ handle_host, origin }: Pick<Config, 'handle_host' | 'origin'>): string {
  return handle_host ?? new URL(origin).hostname
}
