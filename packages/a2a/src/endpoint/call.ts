import type { AgentProfile, IntakeSteps } from '@postern/core'
import type { Caller } from '../auth/caller.ts'
import type { ProtocolVersion } from '../format/version.ts'

/** One call of one operation. `caller` is proven; `params` is not checked yet. */
export interface Call {
  readonly caller: Caller
  readonly agent: AgentProfile
  /** The peer's network address. */
  readonly from: string
  readonly params: unknown
  /** The whole parsed request as it came (in JSON for gRPC). In JSON-RPC the parameters are one of its members. */
  readonly document: unknown
  readonly bytes: Uint8Array
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  /** The protocol version that the caller speaks. */
  readonly version: ProtocolVersion
  /** The last event that the caller received of an interrupted stream. */
  readonly lastEventId: string | undefined
  /** The caller has activated the replay of events. */
  readonly canReplay: boolean
  /** The checks so far. */
  readonly steps?: IntakeSteps | undefined
  /** The request that it came with. */
  readonly request?: object | undefined
}
