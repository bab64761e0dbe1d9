// Describes a channel to the gateway: its settings, how it opens, and its optional parts.
import type { ByteStore, ConfigError, GuardedFetch, Log, SubmitMail, System } from '@postern/message'
import type { Channel, ChannelContext, ChannelDescriptor } from '@postern/pipeline'
import type { Hono } from 'hono'
import type { z } from 'zod'
import type { TokenAuth } from './tokens/issuer-rules.ts'
import type { ScopeTable } from './tokens/scopes.ts'

/**
 * A default value at a path of the configuration file (`email/submit`), for a member that the file does not set. With `mergeKey`, the items of a list
 * are added to those of the file, unless the file has an item with the same value of that member.
 */
export type ConfigDefault = readonly [path: string, value: unknown, mergeKey?: string]

/** The addresses and secrets of the simulated network in which the gateway runs. */
export interface SimulationAccess {
  readonly origin: string
  readonly submit: { readonly host: string; readonly port: number }
  /** The issuers whose access tokens count. */
  readonly issuers: readonly {
    readonly issuer: string
    readonly jwks: string
    readonly algorithms: readonly string[]
  }[]
  /** A secret that the simulation knows, too. */
  readonly secret: string
}

/** Callers of a gateway in dev mode, besides those whom its configuration names. */
export interface DevCallers extends Pick<SimulationAccess, 'origin' | 'issuers'> {
  /** SHA-256 of the operator's token, hexadecimal. */
  readonly operatorDigest: string
}

/** The part of the system that an external store of files needs. */
export interface ByteStoreSystem extends Pick<System, 'now'> {
  /** Returns a guarded fetch that may also reach this one origin, even a private one, because the operator has named it. */
  fetchFor(origin: string): GuardedFetch
}

/** The rules about files that people may attach. */
interface FileRules {
  readonly max_bytes: number
  readonly types: readonly string[]
}

/** The module by which a channel's package registers in the gateway's list. Features that only some channels have are optional members. */
export interface ChannelModule<Config, Name extends string = string, Context extends ChannelContext = ChannelContext> {
  readonly descriptor: ChannelDescriptor & { readonly name: Name }
  /** The member of the configuration file that holds the members of several channels; absent for a channel with a member of its own. */
  readonly configSection?: string | undefined
  /** The schema of its member in the configuration file, or in the section of that file. The member has the channel's name. */
  readonly configSchema: z.ZodType<Config>
  /** The members of its configuration that cannot change while the gateway runs. */
  readonly fixedMembers?: readonly (keyof Config & string)[]
  /** Opens the channel. Returns undefined for a channel that its configuration leaves closed. */
  open(config: Config, context: Context): Channel<Hono> | Promise<Channel<Hono> | undefined>
  /**
   * Returns the configuration with the content of the files that it names.
   * @throws ConfigError, or an AggregateError of several
   */
  readFiles?(config: Config, deps: { readonly baseDir: string; readonly log: Log }): Config
  /** Lists the settings that make the channel unsafe outside dev mode. */
  findUnsafe?(config: Config): readonly ConfigError[]
  /** The rules for the tokens that the channel accepts. A person is the same on all channels, so no channel accepts a token that another one refuses. */
  readonly tokens?: TokenRulesOf<Config>
  /** Opens the connection for outgoing mail, or returns undefined if the configuration names no server. */
  openMail?(config: Config, log: Log): (SubmitMail & { close(): void }) | undefined
  /** Opens the storage for bytes of objects, or returns undefined if the store itself keeps them. */
  openBytes?(config: Config, system: ByteStoreSystem): ByteStore | undefined
  /** Returns the rules about files that people may attach. The same rules apply to files that are fetched. */
  fileRules?(config: Config): FileRules
  /** Returns true if files to which messages refer are fetched and stored. */
  keepsFiles?(config: Config): boolean
  /** The defaults of dev mode for settings that the file leaves out. */
  readonly devDefaults?: readonly ConfigDefault[]
  simulatedDefaults?(access: SimulationAccess): readonly ConfigDefault[]
  /** Returns the configuration for dev mode, in which the operator and the people of the simulation may use the channel without further settings. */
  admitDevCallers?(config: Config, callers: DevCallers): Config
  /** Returns the secret with which the simulation may deliver messages. */
  simulatedSecret?(config: Config): string | undefined
}

interface TokenRulesOf<Config> {
  authOf(config: Config): TokenAuth
  join(config: Config, otherAuth: TokenAuth): Config
  /** Returns other names for the scopes of tokens. */
  scopesOf?(config: Config): Partial<ScopeTable> | undefined
}
