import type { Log } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import type { z } from 'zod'
import { channelModules } from '../channels.ts'

/** A channel of whatever configuration and needs. The gateway gives each what its list says. */
// biome-ignore lint/suspicious/noExplicitAny: each module's own slice fits its own functions, which no common type can say
export type AnyChannelModule = ChannelModule<any, any>

/** Members of the configuration, each by the name of its channel. */
export type ChannelConfigs = {
  readonly [Module in (typeof channelModules)[number] as Module['descriptor']['name']]: z.output<Module['configSchema']>
}

/** A channel of the list, and what the configuration says of it. */
export interface ChannelSlice {
  readonly module: AnyChannelModule
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly config: any
}

/** The members of the configuration that are channels', as a shape for the schema of all of it. */
export function shapeOfChannels(modules: readonly AnyChannelModule[]): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(modules.map(({ descriptor, configSchema }) => [descriptor.name, configSchema.prefault({})]))
}

export function listSlices(
  config: object,
  modules: readonly AnyChannelModule[] = channelModules,
): readonly ChannelSlice[] {
  const members = config as Readonly<Record<string, unknown>>
  return modules.map(module => ({ module, config: members[module.descriptor.name] }))
}

/** With what the files say that the configuration names. @throws AggregateError of ConfigErrors */
export function readChannelFiles(
  slices: readonly ChannelSlice[],
  place: { readonly baseDir: string; readonly log: Log },
): readonly ChannelSlice[] {
  return slices.map(({ module, config }) => ({ module, config: module.readFiles?.(config, place) ?? config }))
}

/** One person is the same on all channels: a token that one refuses is taken by none. */
export function joinTokens(slices: readonly ChannelSlice[]): readonly ChannelSlice[] {
  return slices.map(({ module, config }) => {
    const others = slices.filter(other => other.module !== module)
    const rules = others.flatMap(other => other.module.tokens?.of(other.config) ?? [])
    return { module, config: rules.reduce((joined, each) => module.tokens?.join(joined, each) ?? joined, config) }
  })
}

/** Other names for what a token may do, as the first channel has them that has any. */
export function findScopes(slices: readonly ChannelSlice[]) {
  return slices.map(({ module, config }) => module.tokens?.scopesOf?.(config)).find(scopes => scopes !== undefined)
}
