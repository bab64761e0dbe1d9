// The schema of the whole configuration file, with a member for each channel.
import { z } from 'zod'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule, ChannelConfigs } from './channel-slices.ts'
import { createChannelShape } from './channel-slices.ts'
import type { ownSchema } from './own-schema.ts'
import { hasRole, ownShape } from './own-schema.ts'

/** The whole configuration file, with a member for each channel of the list. */
export function createConfigSchema(modules: readonly AnyChannelModule[]): z.ZodType<Config> {
  const schema = z.strictObject({ ...ownShape, ...createChannelShape(modules) })
  return schema.refine(hasRequiredRoles, missingRoleIssue) as unknown as z.ZodType<Config>
}

/** Returns true if a gateway on the embedded store has both roles. No other gateway can do the work of a missing role there. */
function hasRequiredRoles(config: Pick<Config, 'store' | 'roles'>): boolean {
  return config.store !== 'sqlite' || (hasRole(config, 'ingress') && hasRole(config, 'worker'))
}

const missingRoleIssue = {
  path: ['roles'],
  error: 'leaves work to other gateways, but no other gateway can share the embedded store',
  params: { fix: 'Name both roles or none, or set store to the postgres:// address that the others have.' },
}

/** The schema with the program’s own channels. */
export const configSchema = createConfigSchema(channelModules)

export type Config = z.output<typeof ownSchema> & ChannelConfigs

/** Returns the domain of every `@agent@domain`. */
export function findHandleHost({ handle_host, origin }: Pick<Config, 'handle_host' | 'origin'>): string {
  return handle_host ?? new URL(origin).hostname
}
