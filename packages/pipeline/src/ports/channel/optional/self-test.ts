// Declares test calls of the gateway to its own endpoint, once with a valid proof and once with a forged one.

import type { GuardedFetch } from '@postern/message'

/** The result of a call to one of our own endpoints. */
export interface SelfTestCall {
  /** True if the endpoint accepted or refused the call as it should. */
  readonly isExpected: boolean
  /** The endpoint's answer, or the reason why there is none, as half a sentence. */
  readonly answer: string
}

/** The fetch functions by which the calls of a self-test reach their endpoint. */
export interface SelfTestFetches {
  readonly proven: GuardedFetch
  readonly forged: GuardedFetch
}

/** The results of test calls to one of our own endpoints. The calls have no effect on anybody. */
export interface SelfTestResult {
  readonly endpoint: string
  /** The call with a valid proof, which the endpoint must accept. */
  readonly proven: SelfTestCall
  /** The same call with a forged proof, which the endpoint must refuse. */
  readonly forged: SelfTestCall
}
