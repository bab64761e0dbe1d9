// Describes a call of one operation at the endpoint of an agent.
import type { IncomingRequest } from '@postern/http'
import { networkOf } from '@postern/http'
import type { AgentProfile, ChannelContext, IntakeSteps } from '@postern/pipeline'
import type { Caller } from '../auth/caller.ts'
import type { A2aConfig } from '../config.ts'
import { A2aRejection } from '../format/errors.ts'
import type { ProtocolVersion } from '../format/wire.ts'
import type { VerifyCaller } from '../verify.ts'

/** A call of one operation. `caller` is proven; `params` is not checked yet. */
export interface Call {
  readonly caller: Caller
  readonly agent: AgentProfile
  /** The network address of the peer. */
  readonly from: string
  readonly params: unknown
  /** The complete parsed request (in JSON for gRPC). In JSON-RPC the parameters are one of its members. */
  readonly document: unknown
  readonly bytes: Uint8Array
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  /** The protocol version that the caller speaks. */
  readonly version: ProtocolVersion
  /** The last event that the caller received of an interrupted stream. */
  readonly lastEventId: string | undefined
  /** True if the caller has activated the replay of events. */
  readonly canReplay: boolean
  /** The record of the checks so far. */
  readonly steps?: IntakeSteps | undefined
  /** The request of the transport. */
  readonly request?: object | undefined
}

export interface EndpointDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  readonly verifyCaller: VerifyCaller
}

/** A request at the endpoint of an agent. */
export interface IncomingCall {
  readonly request: IncomingRequest
  /** The agent in the path. Undefined for the default agent. */
  readonly agent: string | undefined
  /** The value of `A2A-Version` in the query. Undefined if it is absent. */
  readonly versionQuery: string | undefined
  readonly from: string
  /** The record of the checks so far. */
  readonly steps: IntakeSteps
}

/** An admitted call and its operation. */
export interface AdmittedCall {
  readonly name: string
  readonly call: Call
  /** Our extensions that the caller activated. */
  readonly extensions: readonly string[]
}

/**
 * Returns the key of a listener. Callers without credentials share one owner. Their network distinguishes them, because one caller may use
 * many addresses of it.
 */
export function listenerKeyOf({ caller, from }: Pick<Call, 'caller' | 'from'>): string {
  return caller.isAnonymous ? `${caller.owner} ${networkOf(from)}` : caller.owner
}

/** Finds the agent of a call. @throws A2aRejection `notFound` */
export function findAddressee(name: string | undefined, { agents }: Pick<ChannelContext, 'agents'>): AgentProfile {
  const agent = agents.find(name ?? agents.defaultAgent ?? '')
  if (!agent) throw new A2aRejection('notFound', 'Agent not found')
  return agent
}
