import type {
  ByteStore,
  Channel,
  ChannelContext,
  ChannelDescriptor,
  ConfigError,
  Log,
  Platform,
  SubmitMail,
} from '@postern/core'
import type { Hono } from 'hono'
import type { z } from 'zod'
import type { ScopeTable } from './tokens/credential.ts'
import type { TokenAuth } from './tokens/issuer-rules.ts'

/** A value at a place of the configuration file (`email/submit`), for where the file says nothing. */
export type ConfigFilling = readonly [path: string, value: unknown]

/** What is there when the gateway runs in a simulated network. */
export interface SimulatedPlaces {
  readonly origin: string
  readonly submit: { readonly host: string; readonly port: number }
  /** Whose access tokens count. */
  readonly issuers: readonly {
    readonly issuer: string
    readonly jwks: string
    readonly algorithms: readonly string[]
  }[]
  /** A secret that the simulation knows, too. */
  readonly secret: string
}

/** Which files people may attach. */
interface FileRules {
  readonly max_bytes: number
  readonly types: readonly string[]
}

/** A channel as the gateway's list has it: one line there, and its package. What only some channels have is a named optional part. */
export interface ChannelModule<Config, Name extends string = string, Context extends ChannelContext = ChannelContext> {
  readonly descriptor: ChannelDescriptor & { readonly name: Name }
  /** Of its member in the configuration file, which bears its name. */
  readonly configSchema: z.ZodType<Config>
  /** Members of it that cannot change while the gateway runs. */
  readonly fixedMembers?: readonly (keyof Config & string)[]
  open(config: Config, context: Context): Channel<Hono> | Promise<Channel<Hono>>
  /** The configuration with what the files say that it names. @throws ConfigError, AggregateError of them */
  readFiles?(config: Config, place: { readonly baseDir: string; readonly log: Log }): Config
  /** What makes it unsafe outside of dev mode. */
  findUnsafe?(config: Config): readonly ConfigError[]
  /** Rules of the tokens that it takes. One person is the same on all channels: a token that one refuses is taken by none. */
  readonly tokens?: TokenRulesOf<Config>
  /** Where mail goes out; undefined where no server is named. */
  openMail?(config: Config, log: Log): (SubmitMail & { close(): void }) | undefined
  /** Where the bytes of objects go instead of the store; undefined: into the store. */
  openBytes?(config: Config, platform: Platform): ByteStore | undefined
  /** Which files people may attach; the same holds for files that are fetched. */
  fileRules?(config: Config): FileRules
  /** Whether files that messages point to are fetched and kept. */
  keepsFiles?(config: Config): boolean
  /** What dev mode fills in where the file says nothing. */
  readonly devDefaults?: readonly ConfigFilling[]
  simulatedDefaults?(places: SimulatedPlaces): readonly ConfigFilling[]
  /** In dev mode the operator may use it without further ado. */
  admitOperator?(config: Config, tokenDigest: string): Config
  /** The secret by which the simulation may bring messages. */
  simulatedSecret?(config: Config): string | undefined
}

interface TokenRulesOf<Config> {
  of(config: Config): TokenAuth
  join(config: Config, other: TokenAuth): Config
  /** Other names for what a token may do. */
  scopesOf?(config: Config): Partial<ScopeTable> | undefined
}

/** Whether a secret of the configuration is so short that it can be guessed. One that is not set cannot. */
export function isGuessableSecret(secret: string | undefined): boolean {
  return secret !== undefined && secret.length < 16
}
