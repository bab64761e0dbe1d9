import { Rejection, Unavailable } from '../format/errors.ts'
import type { ChannelName } from '../message/message.ts'
import type { IntakeStore } from '../ports/intake-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime } from '../ports/platform/platform.ts'
import type { Refusal, RefusalClaims, RefusalCode } from '../ports/records/records.ts'

/** Where something was refused, and what it says of itself. */
export interface RefusalPlace extends RefusalClaims, Pick<Refusal, 'endpoint'> {
  /** The peer's network address, for the operator. */
  readonly from: string
  /** What it is answered with; absent where that is not a number. */
  readonly statusOf?: ((error: unknown) => number | undefined) | undefined
  /** The request that it came with: of one request one refusal is kept. */
  readonly request?: object | undefined
}

/** What remembers a refusal. */
export interface RefusalDeps extends RefusalPlace {
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
}

const recorded = new WeakSet<object>()

/** Whether a refusal is kept that this request was answered with. */
export function hasRefusal(request: object): boolean {
  return recorded.has(request)
}

/** A refusal or a failure is remembered for the operator, wherever on the way in it happens. */
export function recordRefusal(error: unknown, via: ChannelName, deps: RefusalDeps): void {
  const { store, platform, from, statusOf, request } = deps
  if (request) recorded.add(request)
  const { code, reason } = describeRefusal(error)
  const { endpoint, claimed_sender, agent, peer_id } = deps
  const place = { endpoint, status: statusOf?.(error), claimed_sender, agent, peer_id }
  store.refuse({ at: isoTime(platform.now()), via, from, code, reason, ...place })
  // Where a refusal was made tells nothing that its sentence does not; what was behind it may.
  if (error instanceof Rejection) {
    const behind = error.cause === undefined ? {} : { err: error.cause }
    platform.log.info({ via, from, code, reason, ...behind }, 'message refused')
  } else platform.log.warn({ via, from, code, reason, err: error }, 'message not taken')
}

function describeRefusal(error: unknown): { readonly code: RefusalCode; readonly reason: string } {
  if (error instanceof Rejection) return { code: error.code, reason: error.message }
  if (error instanceof Unavailable) return { code: 'unavailable', reason: error.message }
  return { code: 'internal', reason: 'a fault of the gateway: its log has it' }
}
