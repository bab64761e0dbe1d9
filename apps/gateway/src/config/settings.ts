import type { AgentSettings } from '@postern/agents'
import type { ChannelSettings } from '../channel-settings.ts'
import type { OwnSettings } from './own-schema.ts'

/** A text that stands elsewhere: in an environment variable, or in a file beside the configuration. */
type Reference = { readonly env: string } | { readonly file: string }

/** The same settings, but every text may be a reference. Names such as `use` and `mode` stay as they are: they decide what else there is. */
type Referable<Value> = Value extends string
  ? string extends Value
    ? Value | Reference
    : Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Referable<Value[Key]> }
    : Value

/** A configuration file, before defaults are filled in. */
export type Settings = Referable<Partial<Omit<OwnSettings, 'agents'>> & ChannelSettings> & {
  /** The agents by their names, which are the local parts of their addresses. */
  readonly agents?: Readonly<Record<string, Referable<AgentSettings>>>
}

/**
 * Names the type of a configuration, so that an editor completes and explains every key. It returns what it is given.
 *
 * @example
 * // postern.config.ts
 * import { defineConfig } from 'postern'
 *
 * export default defineConfig({
 *   origin: 'https://agents.example',
 *   operator_token: { env: 'OPERATOR_TOKEN' },
 *   agents: { desk: { name: 'Desk', use: './agents/desk.ts' } },
 * })
 */
export function defineConfig(settings: Settings): Settings {
  return settings
}
