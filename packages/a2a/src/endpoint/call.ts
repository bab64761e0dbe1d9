import type { AgentProfile } from '@postern/core'
import type { Caller } from '../auth/caller.ts'
import type { ProtocolVersion } from '../format/version.ts'

/** One call of one operation: who, to whom, and what arrived. `caller` is proven; `params` is not checked yet. */
export interface Call {
  readonly caller: Caller
  readonly agent: AgentProfile
  /** The peer's network address. */
  readonly from: string
  readonly params: unknown
  /** The whole request, parsed and as it came (of gRPC: in JSON). In JSON-RPC the parameters are a member of it. */
  readonly document: unknown
  readonly bytes: Uint8Array
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  /** Of the protocol, as the caller speaks it. */
  readonly version: ProtocolVersion
  /** The last event of a stream that was cut off, where the caller wants to go on behind it. */
  readonly lastEventId: string | undefined
  /** The caller has switched on the replay of events. */
  readonly canReplay: boolean
}
