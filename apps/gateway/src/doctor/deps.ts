import type {
  AgentDirectory,
  Channel,
  ConfigError,
  GuardedFetch,
  LeftAloneHost,
  Listening,
  OpenStream,
  OperatorStore,
  Platform,
  RelationStore,
  WorkStore,
} from '@postern/core'
import type { ChannelSlice } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import type { ResolvePlatform } from '../resolve/view/fetched.ts'
import type { MachineFacts } from './machine-facts.ts'
import type { SelfVisits } from './network/visits.ts'

/** The way out of the checks. */
export interface Outside extends Pick<Platform, 'resolveDns'> {
  /** As a peer fetches: https, public addresses only. */
  readonly fetch: GuardedFetch
  readonly openStream: OpenStream
  /** As agents fetch from an origin that the operator named, private or not. */
  fetchFor(origin: string): GuardedFetch
  /** Where a port of a host is reached. Tests have them all on this machine. */
  locate(host: string, port: number): { readonly host: string; readonly port: number }
  /** Certificates to trust beside those of Node, PEM. */
  readonly authorities?: readonly string[] | undefined
  /** Nothing of the world outside is asked. */
  readonly isSimulated: boolean
}

/** What checks of the machine are given, with or without a configuration that can be read. */
export interface MachineDeps extends Pick<Platform, 'now'> {
  /** The data folder. */
  readonly directory: string
  /** Absent where there is no configuration file. */
  readonly configPath: string | undefined
  readonly facts: MachineFacts
  readonly outside: Outside
  /** Why the configuration cannot be used. */
  readonly configFaults: readonly ConfigError[]
  /** Why the gateway could not be opened. */
  readonly openFaults: readonly ConfigError[]
}

/** The gateway itself, running or only opened. */
export interface OpenedGateway {
  readonly store: Pick<OperatorStore, 'count' | 'listDeliveries' | 'findMessage'> &
    Pick<RelationStore, 'listRelations'> &
    Pick<WorkStore, 'nextDue'> & { checkWrites(): Promise<void> }
  readonly channels: readonly Channel[]
  readonly agents: Pick<AgentDirectory, 'list' | 'defaultAgent' | 'domain'>
  readonly slices: readonly ChannelSlice[]
  /** Open sockets, the HTTP server's first; none before it runs. */
  readonly listening: readonly Listening[]
  readonly operatorToken: string
  listUnknownProxies(): readonly string[]
  listLeftAlone(): readonly LeftAloneHost[]
  readonly visits: SelfVisits
  /** How addresses are looked at. */
  openResolvePlatform(): ResolvePlatform
}

/** What checks of an installation are given. */
export interface DoctorDeps extends MachineDeps {
  readonly config: Config
  readonly gateway: OpenedGateway | undefined
  readonly isRunning: boolean
}

/** For checks that need a gateway and are skipped without one. */
export function requireOpened({ gateway }: DoctorDeps): OpenedGateway {
  if (!gateway) throw new Error('there is no gateway')
  return gateway
}
