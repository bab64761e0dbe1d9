import type { ChannelContext, IntakeSteps } from '@postern/core'
import type { VerifyCaller } from '../auth/caller.ts'
import type { A2aConfig } from '../config.ts'
import type { ProtocolVersion } from '../format/version.ts'
import type { Call } from './call.ts'

export interface EndpointDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  readonly verifyCaller: VerifyCaller
}

/** A request at the endpoint of an agent. */
export interface IncomingCall {
  readonly request: Request
  /** The agent in the path; undefined means the default agent. */
  readonly agent: string | undefined
  /** `A2A-Version` in the query. */
  readonly versionQuery: string | undefined
  readonly from: string
  /** The checks so far. */
  readonly steps: IntakeSteps
}

/** An admitted call and its operation. */
export interface EnteredCall {
  readonly name: string
  readonly version: ProtocolVersion
  readonly call: Call
  /** Our extensions that the caller activated. */
  readonly extensions: readonly string[]
}
