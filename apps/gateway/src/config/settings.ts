// The types of a configuration file, for operators who write it in TypeScript.
import type { AgentSettings } from '@postern/agents'
import type { ChannelSettings } from '../channel-settings.ts'
import type { OwnSettings } from './own-schema.ts'

/** A reference to a text in an environment variable or in a file next to the configuration. */
type Reference = { readonly env: string } | { readonly file: string }

/**
 * The same settings, except that every text may be a reference. Values such as those of `use` and `mode` may not, because they decide which other
 * keys exist.
 */
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
 * Returns a configuration as it is, with a type by which an editor completes and explains every key.
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
