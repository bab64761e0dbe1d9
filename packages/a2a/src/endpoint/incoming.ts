import type { ChannelContext } from '@postern/core'
import type { VerifyCaller } from '../auth/caller.ts'
import type { A2aConfig } from '../config.ts'
import type { ProtocolVersion } from '../format/version.ts'
import type { Call } from './call.ts'

export interface EndpointDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  readonly verifyCaller: VerifyCaller
}

/** What came to the endpoint of an agent. */
export interface IncomingCall {
  readonly request: Request
  /** Of the path; undefined means the default agent. */
  readonly agent: string | undefined
  /** `A2A-Version` of the query. */
  readonly versionQuery: string | undefined
  readonly from: string
}

/** A call that was let in, and the operation it names. */
export interface EnteredCall {
  readonly name: string
  readonly version: ProtocolVersion
  readonly call: Call
  /** Those of ours that the caller switched on. */
  readonly extensions: readonly string[]
}
