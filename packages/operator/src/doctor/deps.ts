// Defines the dependencies of checks: the machine, the network, and the gateway if it opened.
import type { ConfigError, GuardedFetch, ObjectStore, OpenStream, System } from '@postern/message'
import type {
  AgentDirectory,
  Channel,
  ListeningSocket,
  OperatorStore,
  PausedHost,
  RelationStore,
  SelfTestOutcome,
  WorkStore,
} from '@postern/pipeline'
import type { ResolveSystem } from '../resolve/view/peer-fetch.ts'
import type { DoctorConfig } from './config.ts'
import type { MachineFacts } from './machine-facts.ts'
import type { SelfVisits } from './network/visits.ts'

/** The network as the checks reach it. */
export interface DoctorNetwork extends Pick<System, 'resolveDns'> {
  /** Fetches as a peer does: by https, from public addresses only. */
  readonly fetch: GuardedFetch
  readonly openStream: OpenStream
  /** Returns the fetch of agents for an origin of the configuration, which may be private. */
  fetchFor(origin: string): GuardedFetch
  /** Returns the address of a host’s port. In tests all are on this machine. */
  locate(host: string, port: number): { readonly host: string; readonly port: number }
  /** Certificates to trust in addition to those of Node, PEM. */
  readonly authorities?: readonly string[] | undefined
  /** True if no external server may be asked. */
  readonly isSimulated: boolean
}

/** Dependencies of checks that also run without a readable configuration. */
export interface MachineDeps extends Pick<System, 'now'> {
  /** The data folder. */
  readonly directory: string
  /** The path of the configuration file; absent if there is none. */
  readonly configPath: string | undefined
  readonly facts: MachineFacts
  readonly network: DoctorNetwork
  /** The faults of the configuration. */
  readonly configFaults: readonly ConfigError[]
  /** The faults that kept the gateway from opening. */
  readonly openFaults: readonly ConfigError[]
}

/** An agent whose `start()` has failed and runs again later. */
export interface FailedStart {
  readonly agent: string
  readonly error: unknown
  /** The number of consecutive calls that have failed. */
  readonly failures: number
  /** The time of the next call, ms. */
  readonly nextCallAt: number
}

/** A person whose data an agent with a memory of its own must still delete. */
export interface PendingForget {
  readonly agent: string
  /** The number of calls of `forget()` that have failed. */
  readonly failures: number
  readonly error?: string | undefined
  /** The time of the next call, ms. */
  readonly nextCallAt: number
}

/** A file storage outside of the database. */
interface FileStorage {
  write(key: string, bytes: Uint8Array, type: string): Promise<void>
  read(key: string): Promise<Uint8Array | undefined>
  remove(key: string): Promise<void>
}

/** Signs the test requests of the gateway to itself. */
interface RehearsalPasses {
  /** Adds a new pass to each request of a fetch. `end` is the expected end of the request. */
  withPass(fetch: GuardedFetch, end: SelfTestOutcome): GuardedFetch
}

/** The gateway itself, running or only opened. */
export interface OpenedGateway {
  readonly store: Pick<OperatorStore, 'count' | 'listDeliveries' | 'listMessages' | 'findMessage'> &
    Pick<RelationStore, 'listRelations'> &
    Pick<WorkStore, 'findNextDueAt'> & {
      readonly objects: Pick<ObjectStore, 'findAbsentObjects'>
      checkWork(): Promise<void>
    }
  readonly channels: readonly Channel[]
  readonly agents: Pick<AgentDirectory, 'list' | 'defaultAgent' | 'domain'>
  /** The open sockets, that of the HTTP server first; empty before it runs. */
  readonly listening: readonly ListeningSocket[]
  readonly operatorToken: string
  /** Returns the fault of the data that belongs to another gateway; undefined if there is none. */
  findSetupFault(): Promise<ConfigError | undefined>
  /** Passes the configured file storage to `use`; undefined if files are stored in the database. */
  withFileStorage<Result>(use: (storage: FileStorage | undefined) => Promise<Result>): Promise<Result>
  /** Returns the reason why clients behind a proxy cannot be distinguished; undefined if they can. */
  findProxyFault(): { readonly message: string; readonly fix: string } | undefined
  listPausedHosts(): readonly PausedHost[]
  listFailedStarts(): readonly FailedStart[]
  listWaitingForgets(): Promise<readonly PendingForget[]>
  readonly visits: SelfVisits
  readonly rehearsals: RehearsalPasses
  /** Opens the network for `postern resolve`. */
  openResolveSystem(): ResolveSystem
}

/** Dependencies of all other checks. */
export interface DoctorDeps extends MachineDeps {
  readonly config: DoctorConfig
  /** The domain of every `@agent@domain`. */
  readonly handleHost: string
  /** Returns the faults that make the configuration unsafe for production. */
  listUnsafeSettings(): readonly ConfigError[]
  /** Returns the reason why the keys of an issuer of evidence cannot be read; undefined if they can. */
  inspectIssuer(issuer: string): Promise<string | undefined>
  readonly gateway: OpenedGateway | undefined
  readonly isRunning: boolean
  /** The origin and agents of the caller’s configuration, if there is one. */
  readonly expected?: ExpectedSetup | undefined
}

interface ExpectedSetup {
  readonly origin?: string | undefined
  readonly agents?: readonly string[] | undefined
  /** The digest of the names of agents, in place of the names of very many, by `digestAgentNames`. */
  readonly agentsDigest?: string | undefined
}

/** Returns the gateway, for checks that are skipped without one. */
export function requireOpened({ gateway }: DoctorDeps): OpenedGateway {
  if (!gateway) throw new Error('there is no gateway')
  return gateway
}
