// Divides the configuration into the parts of its channels.

import type { ChannelModule } from '@postern/http'
import type { Log } from '@postern/message'
import { z } from 'zod'
import { channelModules } from '../channels.ts'
import { readAt } from '../tree/config-tree.ts'

/** A channel module of any configuration. */
// biome-ignore lint/suspicious/noExplicitAny: each module's own slice fits its own functions, which no common type can say
export type AnyChannelModule = ChannelModule<any, any>

type ListedModule = (typeof channelModules)[number]

/** A module whose member stands in a section of the configuration. */
type SectionModule = Extract<ListedModule, { readonly configSection: string }>

/** The members of the given modules, each under the name of its channel. */
type MembersOf<Modules extends ListedModule> = {
  readonly [Module in Modules as Module['descriptor']['name']]: z.output<Module['configSchema']>
}

/** The members of the configuration that belong to channels, each under the name of its channel or of its section. */
export type ChannelConfigs = MembersOf<Exclude<ListedModule, SectionModule>> & {
  readonly [Module in SectionModule as Module['configSection']]: MembersOf<
    Extract<SectionModule, { readonly configSection: Module['configSection'] }>
  >
}

/** A channel of the list with its part of the configuration. */
export interface ChannelSlice {
  readonly module: AnyChannelModule
  // biome-ignore lint/suspicious/noExplicitAny: each module parses its own slice, so no common type fits
  readonly config: any
}

/** Returns the members of channels as a shape, for the schema of the whole configuration. */
export function createChannelShape(modules: readonly AnyChannelModule[]): Readonly<Record<string, z.ZodType>> {
  const listMembers = (section: string | undefined) =>
    modules
      .filter(({ configSection }) => configSection === section)
      .map(({ descriptor, configSchema }): [string, z.ZodType] => [descriptor.name, configSchema])
  const sections = new Set(modules.flatMap(({ configSection = [] }) => configSection))
  return Object.fromEntries([
    ...listMembers(undefined).map(([name, schema]) => [name, schema.prefault({})] as const),
    ...[...sections].map(name => [name, z.strictObject(Object.fromEntries(listMembers(name))).prefault({})] as const),
  ])
}

export function listSlices(
  config: object,
  modules: readonly AnyChannelModule[] = channelModules,
): readonly ChannelSlice[] {
  return modules.map(module => {
    const { configSection, descriptor } = module
    return {
      module,
      config: readAt(config, [...(configSection === undefined ? [] : [configSection]), descriptor.name]),
    }
  })
}

/** Adds the contents of the files that the configuration names. @throws AggregateError of ConfigErrors */
export function readChannelFiles(
  slices: readonly ChannelSlice[],
  context: { readonly baseDir: string; readonly log: Log },
): readonly ChannelSlice[] {
  return slices.map(({ module, config }) => ({ module, config: module.readFiles?.(config, context) ?? config }))
}

/** Joins the token rules of all channels, so that no channel accepts a token that another one rejects. */
export function joinChannelTokenRules(slices: readonly ChannelSlice[]): readonly ChannelSlice[] {
  return slices.map(({ module, config }) => {
    const otherSlices = slices.filter(otherSlice => otherSlice.module !== module)
    const rules = otherSlices.flatMap(otherSlice => otherSlice.module.tokens?.authOf(otherSlice.config) ?? [])
    return {
      module,
      config: rules.reduce((joinedAuth, rule) => module.tokens?.join(joinedAuth, rule) ?? joinedAuth, config),
    }
  })
}

/** Returns the configured names of token scopes, from the first channel that has any. */
export function findScopes(slices: readonly ChannelSlice[]) {
  return slices.map(({ module, config }) => module.tokens?.scopesOf?.(config)).find(scopes => scopes !== undefined)
}
